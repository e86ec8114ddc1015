#include "runtime/search/lattice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "runtime/kernels/stepper.h"
#include "runtime/smc/check_score.h"
#include "runtime/smc/memory.h"

namespace scry {
namespace {

/// Numbers distinct states in the order of their coming. Equality is that of the integers: the key
/// is a mixed-radix number over their ranges if 64 bits hold it, else the integers themselves.
class StateNumbers {
 public:
  explicit StateNumbers(const std::vector<Component>& components) : components_(components) {
    for (const Component& c : components_) {
      const auto size = static_cast<uint64_t>(c.type.hi - c.type.lo);
      fits_ = fits_ && !__builtin_mul_overflow(radix_, size, &radix_);
    }
  }

  void clear() {
    by_key_.clear();
    by_values_.clear();
  }
  int32_t size() const { return static_cast<int32_t>(by_key_.size() + by_values_.size()); }

  /// The number of a row's state, which is size() from before if it is new.
  int32_t add(const StateRows& rows, int64_t row) {
    values_.clear();
    for (size_t p = 0; p < components_.size(); ++p) values_.push_back(checked_value(rows, row, p));
    if (!fits_) return by_values_.try_emplace(values_, size()).first->second;
    uint64_t key = 0;
    for (size_t p = 0; p < components_.size(); ++p) {
      const Type& type = components_[p].type;
      key = key * static_cast<uint64_t>(type.hi - type.lo) +
            static_cast<uint64_t>(values_[p] - type.lo);
    }
    return by_key_.try_emplace(key, size()).first->second;
  }

 private:
  /// Outside its range a value would share the key of another state.
  int32_t checked_value(const StateRows& rows, int64_t row, size_t part) const {
    int32_t value;
    std::memcpy(&value, rows.at(part, row), sizeof value);
    const Component& c = components_[part];
    if (value < c.type.lo || value >= c.type.hi) {
      throw Error(fmt::format("the state's '{}' is {}, outside its range from {} to {}", c.name,
                              value, c.type.lo, c.type.hi - 1));
    }
    return value;
  }

  const std::vector<Component>& components_;
  bool fits_ = true;
  uint64_t radix_ = 1;
  std::vector<int32_t> values_;
  std::unordered_map<uint64_t, int32_t> by_key_;
  std::map<std::vector<int32_t>, int32_t> by_values_;
};

class LatticeBuilder {
 public:
  LatticeBuilder(const Program& program, const Parameters& parameters, const SampleInput& input,
                 int64_t sequence, int64_t max_rows, int64_t memory)
      : program_(program),
        input_(input),
        sequence_(sequence),
        max_rows_(std::min(max_rows, int64_t{std::numeric_limits<int32_t>::max()})),
        memory_(memory > 0 ? memory : default_memory()),
        batch_(program, parameters, std::span(&input.x, 1), false),
        stepper_(program, parameters),
        cells_(program),
        rows_(program, program.state),
        next_(program, program.state),
        parents_(program, program.state),
        children_(program, program.state),
        numbers_(program.state) {}

  Lattice build() {
    if (batch_.max_length() == 0) return {};
    rows_.resize(1);
    rows_.copy_row(0, batch_.start(), 0);
    for (int step = 1; step <= batch_.max_length(); ++step) {
      count_rows(step);
      check_memory(step);
      add_arcs(step);
      if (step < batch_.max_length()) follow_arcs(step);
    }
    return std::move(lattice_);
  }

 private:
  void count_rows(int step) {
    num_rows_ += rows_.num_rows();
    if (num_rows_ <= max_rows_) return;
    throw SamplingError(Trouble::kTooManyRows, sequence_, step,
                        fmt::format("there are more than {} states; raise max_rows, or sample by "
                                    "a particle method",
                                    max_rows_));
  }

  /// The step's arcs count as if no tag were forbidden.
  void check_memory(int step) const {
    const double num_cells =
        static_cast<double>(rows_.num_rows()) * static_cast<double>(program_.num_tags());
    const double made = static_cast<double>(num_arcs_) * kArcBytes, more = num_cells * kArcBytes;
    const double scores = num_cells * static_cast<double>(program_.real_size());
    if (made + more + scores <= static_cast<double>(memory_)) return;
    const double in_all = made + (batch_.max_length() - step + 1) * more + scores;
    throw SamplingError(
        Trouble::kTooMuchMemory, sequence_, step,
        fmt::format("{} states with {} tags may need about {} in all {} steps, and {} are allowed; "
                    "allow more (--memory {}), or sample by a particle method",
                    rows_.num_rows(), program_.num_tags(), format_memory(in_all),
                    batch_.max_length(), format_memory(static_cast<double>(memory_)),
                    suggest_memory(in_all)));
  }

  /// Rows that are all extended at the same step of the batch's one sequence.
  PrefixRows at_step(const StateRows& rows, int step) {
    positions_.assign(static_cast<size_t>(rows.num_rows()), batch_.position(step, 0));
    return {rows, positions_};
  }

  /// The step's arcs from all rows, not yet knowing where to.
  void add_arcs(int step) {
    const int64_t num_rows = rows_.num_rows(), num_tags = program_.num_tags();
    if (cells_.scores.size() < num_rows * num_tags) cells_.scores.reset(num_rows * num_tags);
    stepper_.score(batch_, at_step(rows_, step), 0, num_rows, cells_);
    LatticeStep& made = lattice_.steps.emplace_back();
    made.first_arc.push_back(0);
    made.arcs.reserve(static_cast<size_t>(num_rows * num_tags));
    for (int64_t row = 0; row < num_rows; ++row) {
      for (int32_t tag = 0; tag < num_tags; ++tag) {
        if (!input_.allowed.allows(step, tag)) continue;
        const double score = cells_.scores.get(row * num_tags + tag);
        if (!is_score(score))
          throw_not_a_number(program_, sequence_, step, "the model's score", tag, score);
        if (score > -INFINITY) made.arcs.push_back({tag, 0, score});
      }
      made.first_arc.push_back(static_cast<int64_t>(made.arcs.size()));
    }
    num_arcs_ += static_cast<int64_t>(made.arcs.size());
    if (made.arcs.empty()) {
      throw SamplingError(Trouble::kNoMass, sequence_, step,
                          "no tagging up to here has a score above -inf");
    }
  }

  /// Merges the states that the arcs lead to, and makes them the rows of the next step. In parts,
  /// as most of the states are equal and need not be in memory at once.
  void follow_arcs(int step) {
    constexpr int64_t kPart = 1 << 16;
    LatticeStep& made = lattice_.steps.back();
    const auto num_arcs = static_cast<int64_t>(made.arcs.size());
    numbers_.clear();
    next_.resize(0);
    size_t row = 0;
    for (int64_t first = 0; first < num_arcs; first += kPart) {
      const std::span part = std::span(made.arcs).subspan(
          static_cast<size_t>(first), static_cast<size_t>(std::min(kPart, num_arcs - first)));
      const auto count = static_cast<int64_t>(part.size());
      parents_.resize(count);
      children_.resize(count);
      tags_.clear();
      for (int64_t i = 0; i < count; ++i) {
        while (first + i >= made.first_arc[row + 1]) ++row;
        parents_.copy_row(i, rows_, static_cast<int64_t>(row));
        tags_.push_back(part[static_cast<size_t>(i)].tag);
      }
      stepper_.advance(batch_, at_step(parents_, step), tags_, 0, count, children_);
      for (int64_t i = 0; i < count; ++i) {
        const int32_t num_before = numbers_.size(), to = numbers_.add(children_, i);
        if (to == num_before) {
          next_.resize(numbers_.size());
          next_.copy_row(to, children_, i);
        }
        part[static_cast<size_t>(i)].to = to;
      }
    }
    std::swap(rows_, next_);
  }

  /// What PathSampler keeps of an arc is counted in.
  static constexpr double kArcBytes = sizeof(Arc) + sizeof(double);

  const Program& program_;
  const SampleInput& input_;
  const int64_t sequence_, max_rows_, memory_;
  int64_t num_rows_ = 0, num_arcs_ = 0;  // of all steps
  const Batch batch_;
  Stepper stepper_;
  Cells cells_;
  StateRows rows_, next_, parents_, children_;
  std::vector<int32_t> positions_, tags_;
  StateNumbers numbers_;
  Lattice lattice_;
};

}  // namespace

int64_t Lattice::num_rows() const {
  int64_t total = 0;
  for (const LatticeStep& step : steps) total += step.num_rows();
  return total;
}

void check_finite_states(const Program& program) {
  for (const Component& c : program.state) {
    if (c.type.is_int()) continue;
    throw Error(
        fmt::format("the model's states are not finite: '{}' is {}; search best-first, or sample",
                    c.name, to_string(c.type)));
  }
}

Lattice build_lattice(const Program& program, const Parameters& parameters,
                      const SampleInput& input, int64_t sequence, int64_t max_rows,
                      int64_t memory) {
  return LatticeBuilder(program, parameters, input, sequence, max_rows, memory).build();
}

}  // namespace scry
