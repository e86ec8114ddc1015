#include "runtime/train/seeds.h"

#include <algorithm>

namespace scry {

namespace {
void add_to(std::vector<double>& sums, const std::vector<double>& numbers) {
  if (sums.empty()) sums.resize(numbers.size(), 0.0);
  for (size_t i = 0; i < numbers.size(); ++i) sums[i] += numbers[i];
}
}  // namespace

Seeds& Seeds::operator+=(const Seeds& other) {
  add_to(d_score, other.d_score);
  add_to(d_compat, other.d_compat);
  add_to(d_log_sum, other.d_log_sum);
  add_to(d_to_go, other.d_to_go);
  return *this;
}

std::vector<double> weigh_rows(const Recording& run, std::span<const double> final_weights) {
  std::vector<double> weights(static_cast<size_t>(run.forest.size()), 0.0);
  for (size_t i = 0; i < final_weights.size(); ++i)
    weights[static_cast<size_t>(run.finals[i].row)] += final_weights[i];
  for (RowId row = run.forest.size(); row-- > 0;) {
    const RowId parent = run.forest.parent(row);
    if (parent >= 0) weights[static_cast<size_t>(parent)] += weights[static_cast<size_t>(row)];
  }
  return weights;
}

Seeds seed_scores(const Recording& run, std::span<const double> final_weights) {
  Seeds seeds;
  seeds.d_score = weigh_rows(run, final_weights);
  return seeds;
}

/// log q = Σ g + C_t - L_{t-1}: a row's weight is on its own C, and, with a minus, on the L that it
/// is extended by.
Seeds seed_proposals(const Recording& run, std::span<const double> final_weights) {
  Seeds seeds;
  seeds.d_compat = weigh_rows(run, final_weights);
  seeds.d_log_sum.resize(seeds.d_compat.size());
  std::transform(seeds.d_compat.begin(), seeds.d_compat.end(), seeds.d_log_sum.begin(),
                 [](double weight) { return -weight; });
  // q says nothing of C_0.
  if (run.forest.num_levels() > 0)
    std::fill_n(seeds.d_compat.begin(), run.forest.level_end(0), 0.0);
  return seeds;
}

/// r_t = C_{t-1} + Ĥ_{t-1} - Ĥ_t - L.
Seeds seed_residuals(const Batch& batch, const Recording& run, std::span<const double> weights) {
  Seeds seeds;
  seeds.d_compat.assign(weights.begin(), weights.end());
  seeds.d_log_sum.resize(weights.size());
  std::transform(weights.begin(), weights.end(), seeds.d_log_sum.begin(),
                 [](double weight) { return -weight; });
  seeds.d_to_go.assign(static_cast<size_t>(batch.num_later_rows()), 0.0);
  run.for_each_extended([&](RowId row, int64_t number) {
    const int32_t position = run.positions[static_cast<size_t>(number)];
    const int step = batch.step_at(position), s = batch.sequence_at(position);
    const double weight = weights[static_cast<size_t>(row)];
    seeds.d_to_go[static_cast<size_t>(batch.later_row(step - 1, s))] += weight;
    seeds.d_to_go[static_cast<size_t>(batch.later_row(step, s))] -= weight;
  });
  return seeds;
}

Seeds seed_to_go(const Batch& batch, std::span<const double> weights) {
  Seeds seeds;
  seeds.d_to_go.assign(static_cast<size_t>(batch.num_later_rows()), 0.0);
  for (int s = 0; s < batch.num_sequences(); ++s)
    seeds.d_to_go[static_cast<size_t>(batch.later_row(0, s))] = weights[static_cast<size_t>(s)];
  return seeds;
}

}  // namespace scry
