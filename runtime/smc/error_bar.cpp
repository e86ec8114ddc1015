#include "runtime/smc/error_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace scry {
namespace {

// Weights that differ by less than this (as a variance) may as well be equal up to rounding.
constexpr double kNoSpread = 1e-6;
// A bar whose own variance has fewer degrees of freedom says nothing.
constexpr double kLeastDegrees = 2;
// Weights multiplied over many steps have heavy tails, of which a sample with a smaller share has
// not seen enough. Where it was resampled the products are shorter.
constexpr double kLeastShare = 0.5, kLeastShareResampled = 0.2;

/// Degrees of freedom of the variance v: by the kurtosis for the weights of the end, M − 1 for the
/// rest (Welch & Satterthwaite), but not more than what the sample is worth.
double degrees_of(const RunEvidence& e, double v) {
  const double num = e.num_particles;
  const double of_last =
      e.last.kurtosis > 0 ? 2 * num / (e.last.kurtosis - 1 + 2 * num / (num - 1)) : num - 1;
  const double last = std::min(v, e.last.variance / num), rest = v - last;
  const double degrees = v * v / (last * last / of_last + rest * rest / (num - 1));
  const double worth = 1 / (v + 1 / num);
  return std::max(1.0, std::min(degrees, worth - 1));
}

}  // namespace

double student_widening(double degrees) {
  constexpr double z = 1.959963984540054, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  constexpr std::array kQuantiles{12.7062, 4.3027, 3.1824, 2.7764, 2.5706};  // of 1 … 5
  const double last = static_cast<double>(kQuantiles.size());
  degrees = std::max(degrees, 1.0);
  if (degrees < last) {  // between whole numbers along the logarithm
    const double below = std::floor(degrees), part = degrees - below;
    const auto at = static_cast<size_t>(below) - 1;
    return std::pow(kQuantiles[at], 1 - part) * std::pow(kQuantiles[at + 1], part) / z;
  }
  const double inverse = 1 / degrees;  // Fisher & Cornish (1960)
  const double quantile =
      z +
      inverse * ((z3 + z) / 4 + inverse * ((5 * z5 + 16 * z3 + 3 * z) / 96 +
                                           inverse * (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / 384));
  return quantile / z;
}

WeightSpread spread_of(std::span<const double> weights, std::span<const int32_t> counts,
                       double num_particles) {
  double total = 0, counted = 0;
  for (size_t i = 0; i < weights.size(); ++i) total += counts[i] * weights[i], counted += counts[i];
  const double mean = total / num_particles;
  if (!(mean > 0)) return {};
  double squares = num_particles - counted, fourths = squares;  // those of weight 0
  for (size_t i = 0; i < weights.size(); ++i) {
    const double square = (weights[i] / mean - 1) * (weights[i] / mean - 1);
    squares += counts[i] * square;
    fourths += counts[i] * square * square;
  }
  const double variance = squares / num_particles;
  const bool equal = variance < 1e-14;
  return {variance, equal ? 0 : fourths / num_particles / (variance * variance)};
}

ErrorBar judge(const RunEvidence& e) {
  if (e.num_particles < 2) return {Certainty::kUnknown, std::nullopt, "one particle has no spread"};
  if (!e.relative_variance) {
    return {Certainty::kUnreliable, std::nullopt, "the weights are too far apart to be compared"};
  }
  double v = *e.relative_variance;
  if (v * e.num_particles < kNoSpread && e.naive_variance * e.num_particles < kNoSpread) {
    return {Certainty::kNoSpread, std::sqrt(std::max(v, 0.0)),
            "all weights are equal: the lookahead is exact, or what matters was never drawn"};
  }
  if (v <= 0) {
    return {Certainty::kUnreliable, std::sqrt(e.naive_variance),
            "its variance cannot be told from so few particles"};
  }
  const double degrees = degrees_of(e, v);
  ErrorBar bar{Certainty::kEstimate, std::sqrt(v) * student_widening(degrees), ""};
  if (e.least_share < (e.resampled ? kLeastShareResampled : kLeastShare)) {
    bar.caution = fmt::format("the effective sample size fell to {:.1f} of {}",
                              e.least_share * e.num_particles, e.num_particles);
  } else if (degrees < kLeastDegrees) {
    bar.caution = fmt::format("the sample is worth {:.1f} independent particles of {}",
                              1 / (v + 1 / e.num_particles), e.num_particles);
  }
  if (!bar.caution.empty()) bar.certainty = Certainty::kUnreliable;
  return bar;
}

}  // namespace scry
