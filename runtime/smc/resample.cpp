#include "runtime/smc/resample.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace scry {
namespace {

/// Inverts the cumulated weights.
class Wheel {
 public:
  explicit Wheel(std::span<const double> weights) : cumulated_(weights.size()) {
    std::partial_sum(weights.begin(), weights.end(), cumulated_.begin());
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] > 0) last_ = i;
    }
  }
  /// The index whose slice of the wheel holds `u`, 0 < u < 1.
  int32_t at(double u) const {
    const auto found =
        std::upper_bound(cumulated_.begin(), cumulated_.end(), u * cumulated_.back());
    // Rounding may take u · total up to the total.
    return static_cast<int32_t>(std::min(static_cast<size_t>(found - cumulated_.begin()), last_));
  }
  /// Likewise if that of a number below `u` is `index`, or 0: the next ones are looked at in turn.
  int32_t at(double u, int32_t index) const {
    const double target = u * cumulated_.back();
    auto i = static_cast<size_t>(index);
    while (i < last_ && cumulated_[i] <= target) ++i;
    return static_cast<int32_t>(i);
  }

 private:
  std::vector<double> cumulated_;
  size_t last_ = 0;
};

/// ⌊M w_i⌋ copies of each, and the rest drawn from what the rounding left over.
void resample_residual(std::span<const double> weights, std::span<const double> uniforms,
                       std::span<int32_t> ancestors) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto num = static_cast<double>(ancestors.size());
  std::vector<double> rest(weights.size());
  size_t filled = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double expected = num * weights[i] / total, copies = std::floor(expected);
    rest[i] = expected - copies;
    for (double c = 0; c < copies && filled < ancestors.size(); ++c)
      ancestors[filled++] = static_cast<int32_t>(i);
  }
  if (filled == ancestors.size()) return;
  const Wheel wheel(rest);
  for (; filled < ancestors.size(); ++filled) ancestors[filled] = wheel.at(uniforms[filled]);
}

}  // namespace

void resample(Resampling scheme, std::span<const double> weights, std::span<const double> uniforms,
              std::span<int32_t> ancestors) {
  if (scheme == Resampling::kResidual) return resample_residual(weights, uniforms, ancestors);
  const Wheel wheel(weights);
  const auto num = static_cast<double>(ancestors.size());
  for (size_t m = 0; m < ancestors.size(); ++m) {
    if (scheme == Resampling::kMultinomial) {
      ancestors[m] = wheel.at(uniforms[m]);
      continue;
    }
    const double u = scheme == Resampling::kStratified ? uniforms[m] : uniforms[0];
    ancestors[m] = wheel.at((static_cast<double>(m) + u) / num, m == 0 ? 0 : ancestors[m - 1]);
  }
}

}  // namespace scry
