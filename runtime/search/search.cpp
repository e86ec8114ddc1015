// A*: best-first search over prefixes (sec:astar).
#include "runtime/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>

#include "runtime/kernels/stepper.h"
#include "runtime/smc/check_input.h"
#include "runtime/smc/check_score.h"
#include "runtime/smc/end_of_sequence.h"

namespace scry {
namespace {

bool is_learned(const Program& program) {
  return std::any_of(program.params.begin(), program.params.end(),
                     [](const Block& block) { return block.group == ParamGroup::kProposal; });
}

class BestFirstSearch {
 public:
  BestFirstSearch(const Program& program, const Parameters& parameters, const SampleInput& input,
                  const SearchOptions& options)
      : program_(program),
        input_(input),
        options_(options),
        learned_(is_learned(program)),
        tolerance_(program.precision == Precision::kDouble ? 1e-9 : 1e-4),
        batch_(program, parameters, std::span(&input.x, 1), true),
        stepper_(program, parameters),
        cells_(program),
        here_(program, program.state),
        states_(program, program.state) {
    here_.resize(1);
    states_.resize(1);
    states_.copy_row(0, batch_.start(), 0);
    cells_.scores.reset(program.num_tags());
    cells_.compats.reset(program.num_tags());
    cells_.next.resize(program.num_tags());
    check_to_go();
  }

  Best run() {
    add({.parent = -1, .step = 0, .tag = -1, .score = 0, .ahead = INFINITY, .state = 0});
    while (!queue_.empty()) {
      const Entry top = queue_.top();
      queue_.pop();
      if (top.step == batch_.max_length()) return finish(top.node);
      if (top.priority == -INFINITY && is_bound()) throw_no_mass(0);
      if (num_rows_ >= options_.max_rows) throw_too_many();
      ++num_rows_;
      extend(top.node);
    }
    throw_no_mass(deepest_step_);
  }

 private:
  struct Node {
    int64_t parent;  // -1 of the empty prefix
    int32_t step;    // t, the length of the prefix
    int32_t tag;     // y_t
    double score;    // G_t
    double ahead;    // C_t + Ĥ_t; 0 at T; +∞ of the empty prefix, whose C_0 is not known
    int64_t state;   // the row of states_; -1 at T
  };
  /// Of equal priorities the longer prefix goes first, then the older.
  struct Entry {
    double priority;
    int32_t step;
    int64_t node;
    bool operator<(const Entry& other) const {
      if (priority != other.priority) return priority < other.priority;
      if (step != other.step) return step < other.step;
      return node > other.node;
    }
  };

  bool is_bound() const { return !learned_ && exceeded_at_ == 0; }

  void check_to_go() const {
    for (int step = batch_.max_length() - 1; step >= 1; --step) {
      if (is_score(batch_.to_go(0, step))) continue;
      throw SamplingError(Trouble::kNotANumber, options_.sequence, step + 1,
                          fmt::format("the lookahead's score to go is {}",
                                      std::isnan(batch_.to_go(0, step)) ? "NaN" : "+inf"));
    }
  }

  void add(const Node& node) {
    queue_.push({node.score + node.ahead, node.step, static_cast<int64_t>(nodes_.size())});
    nodes_.push_back(node);
  }

  void extend(int64_t index) {
    const Node parent = nodes_[static_cast<size_t>(index)];
    const int step = parent.step + 1;
    const bool last = step == batch_.max_length();
    deepest_step_ = std::max(deepest_step_, step);
    here_.copy_row(0, states_, parent.state);
    const std::array<int32_t, 1> position{batch_.position(step, 0)};
    const PrefixRows prefix{here_, position};
    if (last) {
      stepper_.score(batch_, prefix, 0, 1, cells_);
    } else {
      stepper_.extend(batch_, prefix, 0, 1, cells_);
    }
    for (int tag = 0; tag < program_.num_tags(); ++tag) {
      if (!input_.allowed.allows(step, tag)) continue;
      const double score = checked(cells_.scores, step, "the model's score", tag);
      if (score == -INFINITY) continue;
      Node child{index, step, tag, parent.score + score, 0, -1};
      if (!last) {
        child.ahead = checked(cells_.compats, step, "the lookahead's compatibility", tag) +
                      batch_.to_go(0, step);
        child.state = keep_state(tag);
      }
      check_bound(parent, step, score + child.ahead);
      add(child);
    }
  }

  double checked(const RealBuffer& values, int step, const char* what, int tag) const {
    const double value = values.get(tag);
    if (!is_score(value)) throw_not_a_number(program_, options_.sequence, step, what, tag, value);
    return value;
  }

  int64_t keep_state(int tag) {
    const int64_t row = states_.num_rows();
    states_.resize(row + 1);
    states_.copy_row(row, cells_.next, tag);
    return row;
  }

  /// A bound on the score-to-go must not rise: g + C_t + Ĥ_t ≤ C_{t-1} + Ĥ_{t-1}.
  void check_bound(const Node& parent, int step, double ahead) {
    if (exceeded_at_ > 0 || ahead == -INFINITY) return;
    if (ahead > parent.ahead + tolerance_ * std::max(1.0, std::abs(ahead))) exceeded_at_ = step;
  }

  Best finish(int64_t index) const {
    Best best;
    best.log_score = nodes_[static_cast<size_t>(index)].score;
    for (; nodes_[static_cast<size_t>(index)].parent >= 0;
         index = nodes_[static_cast<size_t>(index)].parent) {
      best.tags.push_back(nodes_[static_cast<size_t>(index)].tag);
    }
    std::reverse(best.tags.begin(), best.tags.end());
    best.optimal = is_bound();
    if (learned_) {
      best.why = "the lookahead is learned, so it is no bound";
    } else if (exceeded_at_ > 0) {
      best.why =
          fmt::format("the lookahead was exceeded at step {}, so it is no bound", exceeded_at_);
    }
    best.num_rows = num_rows_;
    return best;
  }

  /// `step` is where the longest prefixes could not be extended; 0 if the lookahead, a bound, says
  /// that those left cannot be completed.
  [[noreturn]] void throw_no_mass(int step) const {
    throw SamplingError(Trouble::kNoMass, options_.sequence, step,
                        step > 0 ? "no tagging up to here has a score above -inf"
                                 : "no tagging has a score above -inf");
  }
  [[noreturn]] void throw_too_many() const {
    throw SamplingError(
        Trouble::kTooManyRows, options_.sequence, 0,
        fmt::format("the search extended {} prefixes without an answer; raise max_rows, or use a "
                    "beam",
                    options_.max_rows));
  }

  const Program& program_;
  const SampleInput& input_;
  const SearchOptions& options_;
  const bool learned_;
  const double tolerance_;
  const Batch batch_;
  Stepper stepper_;
  Cells cells_;
  StateRows here_, states_;
  std::vector<Node> nodes_;
  std::priority_queue<Entry> queue_;
  int64_t num_rows_ = 0;
  int deepest_step_ = 0;
  int exceeded_at_ = 0;  // the step where the bound was first seen to fail; 0: never
};

}  // namespace

Best search_best_first(const Program& program, const Parameters& parameters,
                       const SampleInput& input, const SearchOptions& options) {
  if (!program.has_proposal())
    throw Error("best-first search needs a lookahead; the program has none");
  const EndedInputs ended(program.task, std::span(&input, 1));
  check_input(program, ended.front(), options.sequence);
  if (ended.front().x.empty()) return {};
  Best best = BestFirstSearch(program, parameters, ended.front(), options).run();
  drop_end(program.task, best.tags);
  return best;
}

}  // namespace scry
