// A prefix at which a lookahead can be compared with the truth.
#pragma once
#include <cmath>
#include <cstddef>

namespace scry {

/// y_{:t}, 0 ≤ t < T, of an input whose taggings were enumerated; in nats.
struct CalibrationPoint {
  size_t input = 0;             ///< its number, from 0
  int step = 0;                 ///< t
  double share = 0;             ///< how much of p(y_{:t} | x) it stands for
  double to_go = NAN;           ///< H_t, exactly (eq:H)
  double lookahead = NAN;       ///< C_t + Ĥ_t
  double to_go_mean = NAN;      ///< of H_t over y_{:t} ~ p(· | x)
  double lookahead_mean = NAN;  ///< likewise of C_t + Ĥ_t
  /// r_{t+1} = C_t + h − log Σ_y exp(g + C_{t+1}); NaN where it is not finite, and for τ ≠ 1.
  double residual = NAN;
};

}  // namespace scry
