#include "runtime/smc/rescore.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/smc/error_bar.h"
#include "runtime/smc/methods.h"

namespace scry {
namespace {

constexpr std::array kCombineNames{"replace", "product"};
constexpr double kLeastOverlap = 0.5;  // as of the share of ESS without resampling (error_bar.cpp)

/// Whether its particles were drawn independently from one distribution, and never resampled.
bool is_independent(const Ensemble& ensemble) {
  const RunInfo& info = ensemble.info;
  if (!ensemble.has_counts() || info.runs != 1) return false;
  if (info.method == row_of(Method::kExact).name) return true;
  return info.resampling == trigger_names()[static_cast<size_t>(Trigger::kNever)] &&
         info.draws == draws_names()[static_cast<size_t>(Draws::kIndependent)];
}

/// Of the mean of independent weights.
ErrorBar judge_draws(const Ensemble& ensemble) {
  const double num = ensemble.info.particles, ess = ensemble.ess();
  const double top = *std::ranges::max_element(ensemble.log_weights);
  std::vector<double> weights;  // of a particle
  for (size_t i = 0; i < ensemble.size(); ++i)
    weights.push_back(std::exp(ensemble.log_weights[i] - top) / ensemble.count(i));
  const WeightSpread spread = spread_of(weights, ensemble.counts, num);
  return judge({.num_particles = num,
                .relative_variance = spread.variance / std::max(num - 1, 1.0),
                .last = spread,
                .naive_variance = 1 / ess - 1 / num,
                .least_share = ess / num});
}

ErrorBar judge_rescored(const Ensemble& before, const Ensemble& after, double overlap,
                        const RescoreOptions& options) {
  if (before.is_whole_posterior()) {
    const bool has_all = options.combine == Combine::kProduct ||
                         static_cast<double>(before.size()) >= options.num_taggings;
    if (has_all) return {Certainty::kExact, 0.0, ""};
    return {Certainty::kLowerBound, std::nullopt, ""};
  }
  if (before.certainty == Certainty::kLowerBound) return {Certainty::kLowerBound, std::nullopt, ""};
  if (before.info.weights == weights_names()[static_cast<size_t>(Weights::kScore)]) {
    return {Certainty::kUnreliable, std::nullopt,
            "rescored, but weights by score are no importance weights: sample without them"};
  }
  if (before.certainty == Certainty::kUnreliable)
    return {Certainty::kUnreliable, std::nullopt, before.caution};
  if (is_independent(before)) return judge_draws(after);
  if (overlap < kLeastOverlap) {
    return {Certainty::kUnreliable, std::nullopt,
            fmt::format("rescored: the new weights leave {:.0f} % of the sample", 100 * overlap)};
  }
  return {Certainty::kUnknown, std::nullopt, "rescored: one run tells no error of it"};
}

}  // namespace

std::span<const char* const> combine_names() { return kCombineNames; }

Rescored rescore(const Ensemble& ensemble, std::span<const double> log_scores,
                 const RescoreOptions& options) {
  if (log_scores.size() != ensemble.size())
    throw Error(
        fmt::format("rescoring: {} scores of {} taggings", log_scores.size(), ensemble.size()));
  if (!(options.alpha > 0) || !std::isfinite(options.alpha))
    throw Error(fmt::format("rescoring: alpha is {}, but it must be above 0", options.alpha));
  const bool is_product = options.combine == Combine::kProduct;
  const double temperature = ensemble.info.temperature;
  Rescored rescored{ensemble, 0};
  Ensemble& after = rescored.ensemble;
  std::vector<double> log_once(ensemble.size()), log_twice(ensemble.size());  // w r and w r²
  for (size_t i = 0; i < ensemble.size(); ++i) {
    const double before = ensemble.log_scores[i], given = log_scores[i];
    const bool has_mass =
        ensemble.log_weights[i] > -INFINITY && before > -INFINITY && given > -INFINITY;
    const double change = is_product ? options.alpha * given : given - before;
    after.log_scores[i] = is_product ? before + options.alpha * given : given;
    const double log_ratio = has_mass ? change / temperature : -INFINITY;
    log_once[i] = has_mass ? ensemble.log_weights[i] + log_ratio : -INFINITY;
    log_twice[i] = log_once[i] + log_ratio;
    after.log_weights[i] = log_once[i];
  }
  after.known.reset();  // that was of the other model
  after.log_z = log_sum_exp(after.log_weights);
  if (!std::isfinite(after.log_z))
    throw Error("no tagging of the ensemble has mass under the model");
  rescored.overlap = std::min(
      1.0, std::exp(2 * after.log_z - log_sum_exp(ensemble.log_weights) - log_sum_exp(log_twice)));
  ErrorBar bar = judge_rescored(ensemble, after, rescored.overlap, options);
  after.certainty = bar.certainty;
  after.log_z_error = bar.error;
  after.caution = std::move(bar.caution);
  after.sort();
  return rescored;
}

}  // namespace scry
