// How far log Ẑ may be from log Z, and whether the sample can tell.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "runtime/smc/ensemble.h"

namespace scry {

/// The factor by which a standard error must grow so that 1.96 of it hold 95 % although the
/// variance was itself estimated, with so many degrees of freedom (at least 1): Student's quantile
/// over the normal one.
double student_widening(double degrees);

/// How weights differ, relative to their mean.
struct WeightSpread {
  double variance = 0;  ///< (standard deviation / mean)² = M / ESS − 1
  double kurtosis = 0;  ///< 0 where all are equal
};
/// Of counts[i] particles of weight weights[i] each, among `num_particles`; the others weigh 0.
WeightSpread spread_of(std::span<const double> weights, std::span<const int32_t> counts,
                       double num_particles);

/// What one run says about its Ẑ.
struct RunEvidence {
  double num_particles = 0;
  std::optional<double> relative_variance;  ///< of Ẑ, by the genealogy
  WeightSpread last;                        ///< of the weights at the end
  double naive_variance = 0;                ///< of Ẑ, as if each resampling had started afresh
  double least_share = 1;                   ///< of ESS in M, at the end and where it was resampled
  bool resampled = false;
};

struct ErrorBar {
  Certainty certainty = Certainty::kUnknown;
  std::optional<double> error;
  std::string caution;
};

/// The bar, widened for what the sample is worth, and what it is worth. Where it says kEstimate,
/// ±1.96 bars hold log Z in 90 to 98 % of runs for M ≥ 16 on models that are not very peaked, in
/// fewer for M = 8 and at least 84 % (docs/output.md).
ErrorBar judge(const RunEvidence& evidence);

}  // namespace scry
