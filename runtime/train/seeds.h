// What an objective wants of a recorded forest, as derivatives of its loss.
#pragma once
#include <span>
#include <vector>

#include "runtime/kernels/batch.h"
#include "runtime/kernels/recording.h"

namespace scry {

/// The derivative of a loss for each number of a forest. An empty list is of zeros. What a loss has
/// to do with all tags of a prefix, it has through L = log Σ_y exp(g + C), which normalizes q
/// (eq:q-local): so that seeds are as many as rows, and cells' are made of them part by part.
struct Seeds {
  std::vector<double> d_score;    ///< by RowId: of g(s_{t-1}, x_t, y_t); not of roots
  std::vector<double> d_compat;   ///< by RowId: of C_t (eq:c); of roots C_0; nothing at t = T
  std::vector<double> d_log_sum;  ///< by RowId: of L over the row's own tags; nothing at t = T
  std::vector<double> d_to_go;    ///< by Batch::later_row: of Ĥ_t (eq:Hhat)

  Seeds& operator+=(const Seeds& other);
};

/// The weight of each row: of all finals below it.
std::vector<double> weigh_rows(const Recording& run, std::span<const double> final_weights);

/// Of Σ weight · G_T over the recording's finals.
Seeds seed_scores(const Recording& run, std::span<const double> final_weights);

/// Of Σ weight · log q(y | x) over the recording's finals (eq:q), with g held still. The run must
/// have proposed by g + C, without resampling that changes what is meant by q.
Seeds seed_proposals(const Recording& run, std::span<const double> final_weights);

/// Of Σ weight · r_t over the rows that were extended (residuals.h), by RowId, with g held still.
Seeds seed_residuals(const Batch& batch, const Recording& run, std::span<const double> weights);

/// Of Σ weight · Ĥ_0 over the batch's sequences.
Seeds seed_to_go(const Batch& batch, std::span<const double> weights);

}  // namespace scry
