#include "runtime/train/check.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "runtime/kernels/philox.h"
#include "runtime/smc/sample.h"
#include "runtime/train/forest_gradient.h"
#include "runtime/train/score_taggings.h"

namespace scry {
namespace {

constexpr int kDirections = 2, kElements = 3;
constexpr int kAttempts = 20;  // to draw a tagging of positive probability

/// A quantity of a tagging: where it stands, which seeds begin its gradient, and whose that is.
struct Quantity {
  const char* name;
  double TaggingScore::*value;
  Seeds (*seed)(const Batch& batch, const Recording& run);
  ParamGroup group;
};

constexpr std::array kOne{1.0};
constexpr std::array kQuantities{
    Quantity{"G_T by θ", &TaggingScore::log_score,
             [](const Batch&, const Recording& run) { return seed_scores(run, kOne); },
             ParamGroup::kModel},
    Quantity{"log q by φ", &TaggingScore::log_proposal,
             [](const Batch&, const Recording& run) { return seed_proposals(run, kOne); },
             ParamGroup::kProposal},
    Quantity{"Ĥ_0 by φ", &TaggingScore::to_go,
             [](const Batch& batch, const Recording&) { return seed_to_go(batch, kOne); },
             ParamGroup::kProposal}};

class Checker {
 public:
  Checker(const Program& program, const Program* held, int length, uint64_t seed)
      : program_(program),
        valued_(held != nullptr ? *held : program),
        parameters_(Parameters::fresh(program, seed)),
        start_(valued_),
        length_(length),
        random_(seed, 1u << 20, static_cast<uint32_t>(length)) {
    for (int64_t k = 0; k < program.num_param_elements; ++k) {
      const double each = parameters_.values.get(k);
      start_.values.set(k, each);
      // Its twin, which stays.
      if (&valued_ != &program_) start_.values.set(program.num_param_elements + k, each);
    }
    for (int attempt = 0; attempt < kAttempts && !found_; ++attempt) {
      x_.clear();
      for (int t = 0; t < length; ++t) x_.push_back(draw_symbol(program.task.x));
      found_ = draw_tagging(attempt);
    }
  }

  GradientCheckRow run(const Quantity& quantity) {
    GradientCheckRow row{program_.differentiator, quantity.name, length_, "", 0, true, ""};
    if (!found_) {
      row.left_out = fmt::format("no tagging above -inf was found for {} random inputs", kAttempts);
      return row;
    }
    const Gradients gradients = differentiate(quantity);
    for (const Block& block : program_.params) {
      if (block.group != quantity.group) continue;
      for (int probe = 0; probe < kDirections + kElements; ++probe) {
        const std::vector<double> direction = pick_direction(block, probe >= kDirections);
        double exact = 0;
        for (size_t k = 0; k < direction.size(); ++k)
          exact += direction[k] * gradients.values.get(block.offset + static_cast<int64_t>(k));
        const double slope = finite_difference(quantity, block, direction);
        double error = std::abs(exact - slope) / std::max({1.0, std::abs(exact), std::abs(slope)});
        if (std::isnan(error)) error = INFINITY;
        if (row.worst_parameter.empty() || error > row.worst_error)
          row.worst_error = error, row.worst_parameter = block.name;
      }
    }
    row.ok = row.worst_error <= kGradientTolerance;
    return row;
  }

 private:
  /// Any but EOS, which scoring adds.
  int draw_symbol(const Alphabet& alphabet) {
    const int count = alphabet.size() - (alphabet.eos() ? 1 : 0);
    if (count < 1) throw Error("the alphabet has no symbol but its end");
    const auto symbol = static_cast<int>(random_.word() % static_cast<uint32_t>(count));
    return alphabet.eos() && symbol >= *alphabet.eos() ? symbol + 1 : symbol;
  }

  /// y by one filtered particle, or the heaviest of several: a tagging that the model allows, if it
  /// has any that scores alone lead to. At first uniformly, as every tagging of positive
  /// probability should have its turn.
  bool draw_tagging(int attempt) {
    y_.clear();
    if (attempt == 0) {
      for (int t = 0; t < length_; ++t) y_.push_back(draw_symbol(program_.task.y));
    } else {
      const SampleOptions options{.method = Method::kFilter,
                                  .particles = 64,
                                  .seed = random_.word(),
                                  .error_bar = false,
                                  .threads = 1};
      const SampleInput input(x_);
      const std::vector<Outcome> outcomes =
          sample(program_, parameters_, std::span(&input, 1), options);
      if (outcomes[0].error || outcomes[0].ensemble.size() == 0) return false;
      const std::span<const int32_t> tags = outcomes[0].ensemble.sequence(0);
      y_.assign(tags.begin(), tags.end());
    }
    const TaggingScore score = TaggingScorer(program_, parameters_).score(x_, y_);
    // NaN is the model's own mistake, and shows in the comparison.
    return score.log_score != -INFINITY && score.log_proposal != -INFINITY &&
           score.to_go != -INFINITY;
  }

  Gradients differentiate(const Quantity& quantity) {
    Gradients gradients(program_);
    TaggingScorer scorer(program_, parameters_);
    scorer.score(x_, y_);
    BatchGradient batch_gradient(program_, parameters_);
    ForestGradient forest_gradient(program_, parameters_, batch_gradient);
    batch_gradient.begin(scorer.batch());
    forest_gradient.add(scorer.batch(), scorer.recording(),
                        quantity.seed(scorer.batch(), scorer.recording()), batch_gradient,
                        gradients);
    if (quantity.group == ParamGroup::kModel) {
      batch_gradient.finish_model(gradients);
    } else {
      batch_gradient.finish_lookahead(gradients);
    }
    gradients.finish(program_, parameters_);
    return gradients;
  }

  /// One element, or all with random weights of norm 1.
  std::vector<double> pick_direction(const Block& block, bool one_element) {
    std::vector<double> direction(static_cast<size_t>(block.shape.size()), 0.0);
    if (one_element) {
      direction[random_.word() % direction.size()] = 1;
      return direction;
    }
    double norm = 0;
    for (double& d : direction) d = random_.normal(), norm += d * d;
    for (double& d : direction) d /= std::sqrt(norm);
    return direction;
  }

  double value(const Quantity& quantity, const Block& block, const std::vector<double>& direction,
               double by) {
    Parameters moved = start_;
    for (size_t k = 0; k < direction.size(); ++k)
      moved.values.add(block.offset + static_cast<int64_t>(k), by * direction[k]);
    moved.prepare(valued_);
    return TaggingScorer(valued_, moved).score(x_, y_).*quantity.value;
  }
  /// Five points: error h⁴. A kink (ReLU, max) between the points shows as two slopes that differ;
  /// then smaller steps step over it. A model with many units has many kinks close by.
  double finite_difference(const Quantity& quantity, const Block& block,
                           const std::vector<double>& direction) {
    const auto slope = [&](double h) {
      const auto at = [&](double by) { return value(quantity, block, direction, by); };
      return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    };
    double wide = slope(1e-3), agreement = 1e-8;
    for (const double h : {1e-4, 1e-5, 1e-6, 1e-7}) {  // at 1e-7 rounding is still below 1e-6
      const double narrow = slope(h);
      if (std::abs(wide - narrow) < agreement * std::max(1.0, std::abs(narrow))) return wide;
      wide = narrow;
      agreement = 1e-7;
    }
    return wide;
  }

  const Program& program_;
  const Program& valued_;  // whose values are differenced
  Parameters parameters_;
  Parameters start_;  // these, as `valued_` has them
  int length_;
  Random random_;
  std::vector<int> x_, y_;
  bool found_ = false;  // a tagging of positive probability
};

}  // namespace

std::vector<GradientCheckRow> check_gradients(const Program& program, int length, uint64_t seed,
                                              const Program* held) {
  if (program.precision != Precision::kDouble ||
      (held != nullptr && held->precision != Precision::kDouble))
    throw Error("check_gradients needs a program compiled in double precision");
  Checker checker(program, held, length, seed);
  std::vector<GradientCheckRow> rows;
  for (const Quantity& quantity : kQuantities) {
    if (quantity.group == ParamGroup::kModel || program.has_proposal())
      rows.push_back(checker.run(quantity));
  }
  return rows;
}

}  // namespace scry
