// How far a lookahead is from consistent: C_{t-1} + h = log Σ_y exp(g + C_t), which the exact one
// is at every prefix.
#pragma once
#include <span>
#include <vector>

#include "runtime/kernels/batch.h"
#include "runtime/kernels/recording.h"

namespace scry {

/// r_t = C_{t-1} + h(s̄_t, x_t) - log Σ_y exp(g + C_t) of each prefix y_{:t-1} that was extended,
/// with C_T = 0, and C_0 as Batch::root_compat has it: 0 where c looks at candidates, so that h
/// stands for it too. Then log w_T = C_0 + Ĥ_0 - Σ_t r_t along every path.
struct Residuals {
  std::vector<double> of_row;  ///< r_t by RowId; 0 where there is none
  /// The share of its sequence's particles that went through a row, over the number of steps; 0
  /// where there is no r_t: C_{t-1}, h or the sum is -∞, or no particle that went through came to
  /// the end.
  std::vector<double> weights;
  /// By sequence: the mean of r_t² by these weights; NaN where there is none.
  std::vector<double> mean_squares;
};

/// `shares` are the particles' on each of the recording's finals, of its sequence's that came to
/// the end. The recording must have log_sums, and the batch have looked ahead.
Residuals measure_residuals(const Batch& batch, const Recording& run,
                            std::span<const double> shares);

}  // namespace scry
