#include "runtime/train/choose_likelihood.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "runtime/kernels/stepper.h"
#include "runtime/smc/check_score.h"
#include "runtime/train/exact_likelihood.h"
#include "runtime/train/train_data.h"

namespace scry {
namespace {

constexpr double kMostMass = 1 + 1e-3, kLeastMass = 1 - 1e-3;  // float kernels round

constexpr size_t kMaxExamples = 64;
constexpr size_t kMaxPairPrefixes = 16;
constexpr int64_t kMaxCells = int64_t{1} << 24;  // scores, for tags and for pairs

/// Up to kMaxExamples of them at even distances, in the order of falling length, and no more than
/// the cells allow; at least one.
std::vector<TrainExample> choose_examples(std::span<const TrainExample> examples, int num_tags,
                                          int turn) {
  std::vector<TrainExample> chosen;
  const size_t count = std::min(examples.size(), kMaxExamples);
  int64_t num_cells = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * examples.size() / count + static_cast<size_t>(turn);
    const TrainExample& example = examples[at % examples.size()];
    num_cells += static_cast<int64_t>(example.x.size()) * num_tags;
    if (!chosen.empty() && num_cells > kMaxCells) break;
    chosen.push_back(example);
  }
  sort_by_length(chosen);
  return chosen;
}

class MassMeter {
 public:
  MassMeter(const Program& program, const Parameters& parameters)
      : program_(program),
        parameters_(parameters),
        stepper_(program, parameters),
        cells_(program),
        num_tags_(program.num_tags()) {
    const int64_t most = std::max<int64_t>(1, kMaxCells / int64_t{kMaxPairPrefixes} / num_tags_);
    mass_.num_symbols = static_cast<int>(std::min<int64_t>(program.task.x.size(), most));
  }

  StepMass measure(std::span<const TrainExample> examples, int turn) {
    std::vector<std::span<const int>> inputs;
    for (const TrainExample& example : examples) inputs.push_back(example.x);
    const Batch batch(program_, parameters_, inputs, false);
    StateRows states(program_, program_.state), next(program_, program_.state);
    states.copy_rows(batch.start());
    std::vector<int32_t> positions, tags;
    std::vector<bool> is_reached(examples.size(), true);
    for (int step = 1; step <= batch.max_length(); ++step) {
      const int64_t count = batch.num_reaching(step);
      positions.resize(static_cast<size_t>(count));
      std::iota(positions.begin(), positions.end(), batch.position(step, 0));
      const PrefixRows rows{states, positions};
      cells_.scores.reset(count * num_tags_);
      stepper_.score(batch, rows, 0, count, cells_);
      tags.clear();
      std::vector<int64_t> with_pairs;
      for (int64_t row = 0; row < count; ++row) {
        const auto s = static_cast<size_t>(row);
        tags.push_back(tag_of(examples[s], step, row));
        if (!is_reached[s]) continue;
        note_tags(row, examples[s].number, step);
        if (step == pair_step(s, examples, turn)) with_pairs.push_back(row);
        const double score = cells_.scores.get(row * num_tags_ + tags.back());
        is_reached[s] = is_score(score) && score > -INFINITY;
      }
      for (int64_t row : with_pairs)
        note_pairs(examples[static_cast<size_t>(row)], step, states, row);
      next.resize(count);
      stepper_.advance(batch, rows, tags, 0, count, next);
      std::swap(states, next);
    }
    return mass_;
  }

 private:
  /// The given one, or of those that may be the best.
  int32_t tag_of(const TrainExample& example, int step, int64_t row) const {
    if (example.is_complete()) return example.y[static_cast<size_t>(step) - 1];
    const std::optional<int> end = program_.task.y.eos();
    const bool at_end = end && step == static_cast<int>(example.x.size());
    if (at_end) return *end;
    int32_t best = -1;
    for (int32_t tag = 0; tag < num_tags_; ++tag) {
      if (tag == end || (example.allowed != nullptr && !example.allowed->allows(step, tag)))
        continue;
      const int64_t first = row * num_tags_;
      if (best < 0 || cells_.scores.get(first + tag) > cells_.scores.get(first + best)) best = tag;
    }
    return best;
  }

  /// The step of this example at which the pairs' mass is taken; 0: none.
  int pair_step(size_t s, std::span<const TrainExample> examples, int turn) const {
    const size_t distance = (examples.size() + kMaxPairPrefixes - 1) / kMaxPairPrefixes;
    if (!program_.features.empty() || s % distance != 0) return 0;
    const size_t length = std::min<size_t>(examples[s].x.size(), 256);
    return 1 + static_cast<int>((s / distance * 5 + static_cast<size_t>(turn)) % length);
  }

  double sum_of_row(int64_t row, bool& is_whole) const {
    double sum = 0;
    for (int64_t cell = row * num_tags_; cell < (row + 1) * num_tags_; ++cell) {
      const double score = cells_.scores.get(cell);
      is_whole = is_whole && score > -INFINITY;
      sum += std::exp(score);
    }
    return sum;
  }

  static void keep_most(StepMass::Extreme& most, const StepMass::Extreme& found) {
    if (found.mass > most.mass || std::isnan(found.mass)) most = found;  // NaN stays
  }

  void note_tags(int64_t row, int64_t example, int step) {
    bool is_whole = true;
    const double sum = sum_of_row(row, is_whole);
    ++mass_.num_prefixes;
    if (!is_whole) ++mass_.num_with_forbidden;
    keep_most(mass_.most_tags, {sum, example, step});
    if (is_whole && sum < mass_.least_tags.mass) mass_.least_tags = {sum, example, step};
  }

  /// The prefix of x up to `step`, with each symbol of the alphabet for its last.
  void note_pairs(const TrainExample& example, int step, const StateRows& states, int64_t row) {
    constexpr int kBatch = 256;
    double sum = 0;
    for (int first = 0; first < mass_.num_symbols; first += kBatch) {
      const int count = std::min(kBatch, mass_.num_symbols - first);
      const auto before = example.x.first(static_cast<size_t>(step) - 1);
      std::vector<std::vector<int>> xs(static_cast<size_t>(count),
                                       std::vector<int>(before.begin(), before.end()));
      std::vector<std::span<const int>> inputs;
      StateRows copies(program_, program_.state);
      copies.resize(count);
      for (int i = 0; i < count; ++i) {
        xs[static_cast<size_t>(i)].push_back(first + i);
        inputs.emplace_back(xs[static_cast<size_t>(i)]);
        copies.copy_row(i, states, row);
      }
      const Batch batch(program_, parameters_, inputs, false);
      cells_.scores.reset(count * num_tags_);
      std::vector<int32_t> positions(static_cast<size_t>(count));
      std::iota(positions.begin(), positions.end(), batch.position(step, 0));
      stepper_.score(batch, {copies, positions}, 0, count, cells_);
      bool ignored = true;
      for (int i = 0; i < count; ++i) sum += sum_of_row(i, ignored);
    }
    ++mass_.num_pair_prefixes;
    keep_most(mass_.most_pairs, {sum, example.number, step});
    if (sum < mass_.least_pairs.mass) mass_.least_pairs = {sum, example.number, step};
  }

  const Program& program_;
  const Parameters& parameters_;
  Stepper stepper_;
  Cells cells_;
  int64_t num_tags_;
  StepMass mass_;
};

std::string place_of(const StepMass::Extreme& extreme) {
  return fmt::format("at step {} of example {}", extreme.step, extreme.example + 1);
}

/// Of a mass that is not local.
const StepMass::Extreme& worst_of(const StepMass& mass) {
  return mass.most_tags.mass <= kMostMass ? mass.least_tags : mass.most_tags;
}

/// Such as "1 at all 812 prefixes that were tried".
std::string describe(double least, double most, int64_t count) {
  const std::string prefixes = fmt::format("{} prefix{} tried", count, count == 1 ? "" : "es");
  return least >= kLeastMass ? fmt::format("1 at all {}", prefixes)
                             : fmt::format("at most {:.4g} at the {}", most, prefixes);
}

}  // namespace

bool StepMass::is_joint() const {
  return num_pair_prefixes > 0 && most_pairs.mass <= kMostMass && most_tags.mass <= kMostMass;
}
bool StepMass::is_conditional() const {
  return most_tags.mass <= kMostMass && least_tags.mass >= kLeastMass;
}

StepMass measure_mass(const Program& program, const Parameters& parameters,
                      std::span<const TrainExample> examples, int turn) {
  return MassMeter(program, parameters)
      .measure(choose_examples(examples, program.num_tags(), turn), turn);
}

Likelihood choose_likelihood(const Program& program, const Parameters& parameters,
                             std::span<const TrainExample> examples, Likelihood asked,
                             const TrainHooks& hooks, bool may_be_exact) {
  const auto note = [&](const std::string& text) {
    if (hooks.note) hooks.note(text);
  };
  const auto conditional = [&](const std::string& why) {
    const bool is_exact = may_be_exact && has_exact_likelihood(program, parameters, examples);
    if (is_exact || !why.empty()) {
      note(fmt::format("likelihood: conditional, with {}{}",
                       is_exact ? "exact gradients over finite states" : "sampled gradients", why));
    }
    return is_exact ? Likelihood::kExact : Likelihood::kConditional;
  };
  if (asked == Likelihood::kConditional) return conditional("");
  const StepMass mass = measure_mass(program, parameters, examples);
  if (asked == Likelihood::kJoint) {
    if (!mass.is_local()) {
      note(
          fmt::format("warning: G_T is taken as a log-likelihood, but the model is not locally "
                      "normalized: the tags have mass {:.4g} {}",
                      worst_of(mass).mass, place_of(worst_of(mass))));
    }
    return asked;
  }
  if (mass.is_joint()) {
    note(
        fmt::format("likelihood: joint, G_T = log p(x, y), as the pairs have mass {}",
                    describe(mass.least_pairs.mass, mass.most_pairs.mass, mass.num_pair_prefixes)));
  } else if (mass.is_conditional()) {
    note(fmt::format("likelihood: joint, G_T = log p(y | x), as the tags have mass {}",
                     describe(mass.num_with_forbidden > 0 ? 0 : mass.least_tags.mass,
                              mass.most_tags.mass, mass.num_prefixes)));
  } else {
    return conditional(
        fmt::format(", as the model is not locally normalized: the tags have mass {:.4g} {}",
                    worst_of(mass).mass, place_of(worst_of(mass))));
  }
  return Likelihood::kJoint;
}

void check_normalization(const Program& program, const Parameters& parameters,
                         std::span<const TrainExample> examples, int turn) {
  const StepMass mass = measure_mass(program, parameters, examples, turn);
  if (mass.is_local()) return;
  const StepMass::Extreme& worst = worst_of(mass);
  throw ExampleError(
      worst.example,
      fmt::format("after epoch {} the tags have mass {:.4g} at step {}: the model is not locally "
                  "normalized, so G_T is no log-likelihood; fit it by --objective conditional",
                  turn, worst.mass, worst.step));
}

}  // namespace scry
