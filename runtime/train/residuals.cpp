#include "runtime/train/residuals.h"

#include <cmath>

#include "runtime/train/seeds.h"

namespace scry {

Residuals measure_residuals(const Batch& batch, const Recording& run,
                            std::span<const double> shares) {
  Residuals result;
  result.weights = weigh_rows(run, shares);
  result.of_row.assign(result.weights.size(), 0.0);
  std::vector<double> totals(static_cast<size_t>(batch.num_sequences()), 0.0);
  result.mean_squares = totals;
  run.for_each_extended([&](RowId row, int64_t number) {
    double& weight = result.weights[static_cast<size_t>(row)];
    if (weight == 0) return;
    const int32_t position = run.positions[static_cast<size_t>(number)];
    const int step = batch.step_at(position), s = batch.sequence_at(position);
    const double compat = step == 1 ? batch.root_compat(s) : run.forest.compat(row);
    const double h = batch.to_go(s, step - 1) - batch.to_go(s, step);
    const double r = compat + h - run.log_sums[static_cast<size_t>(number)];
    if (!std::isfinite(r)) {
      weight = 0;
      return;
    }
    result.of_row[static_cast<size_t>(row)] = r;
    totals[static_cast<size_t>(s)] += weight;
    result.mean_squares[static_cast<size_t>(s)] += weight * r * r;
  });
  for (size_t s = 0; s < totals.size(); ++s)
    result.mean_squares[s] = totals[s] > 0 ? result.mean_squares[s] / totals[s] : NAN;
  run.for_each_extended([&](RowId row, int64_t number) {
    const int32_t s = batch.sequence_at(run.positions[static_cast<size_t>(number)]);
    double& weight = result.weights[static_cast<size_t>(row)];
    if (weight > 0) weight /= totals[static_cast<size_t>(s)];
  });
  for (const Recording::Final& final : run.finals)
    result.weights[static_cast<size_t>(final.row)] = 0;
  return result;
}

}  // namespace scry
