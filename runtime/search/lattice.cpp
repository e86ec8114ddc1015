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
    if (fits_ && radix_ <= kMaxTable) table_.assign(static_cast<size_t>(radix_), -1);
  }

  void clear() {
    for (uint64_t key : met_) table_[static_cast<size_t>(key)] = -1;
    met_.clear();
    by_key_.clear();
    by_values_.clear();
    size_ = 0;
  }
  int32_t size() const { return size_; }

  /// The number of a row's state, which is size() from before if it is new.
  int32_t add(const StateRows& rows, int64_t row) {
    values_.clear();
    for (size_t p = 0; p < components_.size(); ++p) values_.push_back(checked_value(rows, row, p));
    if (!fits_) return number(by_values_.try_emplace(values_, size_));
    uint64_t key = 0;
    for (size_t p = 0; p < components_.size(); ++p) {
      const Type& type = components_[p].type;
      key = key * static_cast<uint64_t>(type.hi - type.lo) +
            static_cast<uint64_t>(values_[p] - type.lo);
    }
    if (table_.empty()) return number(by_key_.try_emplace(key, size_));
    int32_t& found = table_[static_cast<size_t>(key)];
    if (found < 0) {
      found = size_++;
      met_.push_back(key);
    }
    return found;
  }

 private:
  static constexpr uint64_t kMaxTable = 1 << 16;

  template <class Inserted>
  int32_t number(const Inserted& inserted) {
    if (inserted.second) ++size_;
    return inserted.first->second;
  }

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
  std::vector<int32_t> table_;  // by key, where keys are few
  std::vector<uint64_t> met_;   // keys in it
  int32_t size_ = 0;
  std::unordered_map<uint64_t, int32_t> by_key_;
  std::map<std::vector<int32_t>, int32_t> by_values_;
};

}  // namespace

class LatticeBuilder::Impl {
 public:
  Impl(const Program& program, const Parameters& parameters)
      : program_(program),
        stepper_(program, parameters),
        cells_(program),
        states_(program, program.state),
        parents_(program, program.state),
        children_(program, program.state),
        numbers_(program.state) {}

  std::vector<Lattice> build(const Batch& batch, std::span<const TagSets* const> allowed,
                             std::span<const int64_t> numbers, const LatticeLimits& limits) {
    batch_ = &batch;
    allowed_ = allowed;
    sequences_ = numbers;
    max_rows_ = std::min(limits.max_rows, int64_t{std::numeric_limits<int32_t>::max()});
    memory_ = limits.memory > 0 ? limits.memory : default_memory();
    num_arcs_ = 0;
    lattices_.assign(static_cast<size_t>(batch.num_sequences()), {});
    num_rows_.assign(lattices_.size(), 0);
    positions_.clear();
    states_.copy_rows(batch.start());
    level_rows_.assign(lattices_.size(), 1);
    for (int step = 1; step <= batch.max_length(); ++step) {
      begin_level(step);
      check_memory(step);
      add_arcs(step);
      if (step < batch.max_length()) follow_arcs(step);
    }
    return std::move(lattices_);
  }

  const StateRows& states() const { return states_; }
  std::span<const int32_t> positions() const { return positions_; }

 private:
  Lattice& lattice(int s) { return lattices_[static_cast<size_t>(s)]; }
  LatticeStep& step_of(int s, int step) { return lattice(s).steps[static_cast<size_t>(step) - 1]; }
  int64_t rows_of(int s) const { return level_rows_[static_cast<size_t>(s)]; }

  /// The states of the step's rows stand behind those of the steps before.
  void begin_level(int step) {
    level_begin_ = static_cast<int64_t>(positions_.size());
    for (int s = 0; s < batch_->num_reaching(step); ++s) {
      LatticeStep& made = lattice(s).steps.emplace_back();
      made.first_state = static_cast<int64_t>(positions_.size());
      positions_.insert(positions_.end(), static_cast<size_t>(rows_of(s)),
                        batch_->position(step, s));
      int64_t& num_rows = num_rows_[static_cast<size_t>(s)];
      num_rows += rows_of(s);
      if (num_rows <= max_rows_) continue;
      throw SamplingError(Trouble::kTooManyRows, number_of(s), step,
                          fmt::format("there are more than {} states; raise max_rows, or sample "
                                      "by a particle method",
                                      max_rows_));
    }
    states_.resize(static_cast<int64_t>(positions_.size()));
  }
  int64_t level_size() const { return static_cast<int64_t>(positions_.size()) - level_begin_; }
  int64_t number_of(int s) const { return sequences_[static_cast<size_t>(s)]; }

  /// The step's arcs count as if no tag were forbidden.
  void check_memory(int step) const {
    const double num_cells =
        static_cast<double>(level_size()) * static_cast<double>(program_.num_tags());
    const double made = static_cast<double>(num_arcs_) * kArcBytes, more = num_cells * kArcBytes;
    const double scores = num_cells * static_cast<double>(program_.real_size());
    if (made + more + scores <= static_cast<double>(memory_)) return;
    const double in_all = made + (batch_->max_length() - step + 1) * more + scores;
    throw SamplingError(
        Trouble::kTooMuchMemory, number_of(0), step,
        fmt::format("{} states with {} tags may need about {} in all {} steps, and {} are allowed; "
                    "allow more (--memory {}), or sample by a particle method",
                    level_size(), program_.num_tags(), format_memory(in_all), batch_->max_length(),
                    format_memory(static_cast<double>(memory_)), suggest_memory(in_all)));
  }

  /// The step's arcs from all rows, not yet knowing where to.
  void add_arcs(int step) {
    const int64_t num_rows = level_size(), num_tags = program_.num_tags();
    if (cells_.scores.size() < num_rows * num_tags) cells_.scores.reset(num_rows * num_tags);
    const auto where = std::span(positions_).subspan(static_cast<size_t>(level_begin_));
    stepper_.score(*batch_, {states_, where, level_begin_}, 0, num_rows, cells_);
    for (int s = 0; s < batch_->num_reaching(step); ++s) {
      LatticeStep& made = step_of(s, step);
      cells_.scores.visit([&](const auto* scores) {
        add_arcs_of(s, step, scores + (made.first_state - level_begin_) * num_tags, made);
      });
      num_arcs_ += static_cast<int64_t>(made.arcs.size());
      if (made.arcs.empty()) {
        throw SamplingError(Trouble::kNoMass, number_of(s), step,
                            "no tagging up to here has a score above -inf");
      }
    }
  }
  template <class Real>
  void add_arcs_of(int s, int step, const Real* scores, LatticeStep& made) {
    const int64_t num_tags = program_.num_tags(), num_rows = rows_of(s);
    const TagSets* allowed = allowed_.empty() ? nullptr : allowed_[static_cast<size_t>(s)];
    if (allowed != nullptr && allowed->empty()) allowed = nullptr;
    made.first_arc.reserve(static_cast<size_t>(num_rows) + 1);
    made.first_arc.push_back(0);
    made.arcs.reserve(static_cast<size_t>(num_rows * num_tags));
    for (int64_t row = 0; row < num_rows; ++row, scores += num_tags) {
      for (int32_t tag = 0; tag < num_tags; ++tag) {
        if (allowed != nullptr && !allowed->allows(step, tag)) continue;
        const auto score = static_cast<double>(scores[tag]);
        if (!is_score(score))
          throw_not_a_number(program_, number_of(s), step, "the model's score", tag, score);
        if (score > -INFINITY) made.arcs.push_back({tag, 0, score});
      }
      made.first_arc.push_back(static_cast<int64_t>(made.arcs.size()));
    }
  }

  /// Merges the states that the arcs lead to, and makes them the rows of the next step. In parts,
  /// as most of the states are equal and need not be in memory at once.
  void follow_arcs(int step) {
    const int num_going = batch_->num_reaching(step + 1);
    next_rows_.assign(lattices_.size(), 0);
    pending_.clear();
    tags_.clear();
    where_.clear();
    int s_numbered = -1;
    const auto flush = [&] {
      const auto count = static_cast<int64_t>(tags_.size());
      children_.resize(count);
      stepper_.advance(*batch_, {parents_, where_}, tags_, 0, count, children_);
      for (int64_t i = 0; i < count; ++i) {
        const Pending& arc = pending_[static_cast<size_t>(i)];
        if (arc.sequence != s_numbered) numbers_.clear();
        s_numbered = arc.sequence;
        const int32_t num_before = numbers_.size(), to = numbers_.add(children_, i);
        if (to == num_before) {
          const int64_t row = states_.num_rows();
          states_.resize(row + 1);
          states_.copy_row(row, children_, i);
        }
        next_rows_[static_cast<size_t>(arc.sequence)] = numbers_.size();
        arc.arc->to = to;
      }
      pending_.clear();
      tags_.clear();
      where_.clear();
    };
    for (int s = 0; s < num_going; ++s) {
      LatticeStep& made = step_of(s, step);
      int64_t row = 0;
      for (size_t i = 0; i < made.arcs.size(); ++i) {
        while (static_cast<int64_t>(i) >= made.first_arc[static_cast<size_t>(row) + 1]) ++row;
        if (parents_.num_rows() < kPart) parents_.resize(kPart);
        parents_.copy_row(static_cast<int64_t>(tags_.size()), states_, made.first_state + row);
        tags_.push_back(made.arcs[i].tag);
        where_.push_back(batch_->position(step, s));
        pending_.push_back({&made.arcs[i], s});
        if (static_cast<int64_t>(tags_.size()) == kPart) flush();
      }
    }
    flush();
    level_rows_ = next_rows_;
  }

  static constexpr int64_t kPart = 1 << 16;
  /// What LatticeSums keeps of an arc is counted in.
  static constexpr double kArcBytes = sizeof(Arc) + sizeof(double);

  struct Pending {
    Arc* arc;
    int sequence;
  };
  const Program& program_;
  Stepper stepper_;
  Cells cells_;
  StateRows states_, parents_, children_;
  StateNumbers numbers_;
  // Of the batch at hand.
  const Batch* batch_ = nullptr;
  std::span<const TagSets* const> allowed_;
  std::span<const int64_t> sequences_;
  int64_t max_rows_ = 0, memory_ = 0;
  int64_t num_arcs_ = 0;                           // of all
  std::vector<int64_t> num_rows_;                  // of each sequence, in all steps
  std::vector<int64_t> level_rows_, next_rows_;    // likewise, in one
  int64_t level_begin_ = 0;                        // of the step at hand in states_
  std::vector<int32_t> positions_, tags_, where_;  // of all rows; of those that are followed
  std::vector<Pending> pending_;
  std::vector<Lattice> lattices_;
};

LatticeBuilder::LatticeBuilder(const Program& program, const Parameters& parameters)
    : impl_(std::make_unique<Impl>(program, parameters)) {}
LatticeBuilder::LatticeBuilder(LatticeBuilder&&) noexcept = default;
LatticeBuilder::~LatticeBuilder() = default;

std::vector<Lattice> LatticeBuilder::build(const Batch& batch,
                                           std::span<const TagSets* const> allowed,
                                           std::span<const int64_t> numbers,
                                           const LatticeLimits& limits) {
  return impl_->build(batch, allowed, numbers, limits);
}
const StateRows& LatticeBuilder::states() const { return impl_->states(); }
std::span<const int32_t> LatticeBuilder::positions() const { return impl_->positions(); }

const Arc* LatticeStep::find(int64_t row, int32_t tag) const {
  const std::span<const Arc> from = arcs_from(row);
  const auto found = std::lower_bound(from.begin(), from.end(), tag,
                                      [](const Arc& arc, int32_t t) { return arc.tag < t; });
  return found != from.end() && found->tag == tag ? &*found : nullptr;
}

int64_t Lattice::num_rows() const {
  int64_t total = 0;
  for (const LatticeStep& step : steps) total += step.num_rows();
  return total;
}

int64_t Lattice::num_arcs() const {
  int64_t total = 0;
  for (const LatticeStep& step : steps) total += static_cast<int64_t>(step.arcs.size());
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
                      const SampleInput& input, int64_t sequence, const LatticeLimits& limits) {
  const Batch batch(program, parameters, std::span(&input.x, 1), false);
  const TagSets* allowed = &input.allowed;
  return std::move(LatticeBuilder(program, parameters)
                       .build(batch, {&allowed, 1}, {&sequence, 1}, limits)
                       .front());
}

}  // namespace scry
