#include "runtime/smc/reduce.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "runtime/smc/ensemble.h"

namespace scry {

Threshold find_threshold(std::span<double> log_weights, size_t num_kept) {
  // κ lies between the M-th weight and the next heavier ones, so the M heaviest and the sum of all
  // others decide. Weights are relative to the M-th: those below cannot overflow, and those above
  // are looked at, from the lightest, only as long as they are lighter than κ. That is the least k
  // with w_(k+1) < κ_k, as whoever is above κ leaves κ lower, for the next to be above it too.
  const auto mth = log_weights.begin() + static_cast<std::ptrdiff_t>(num_kept) - 1;
  std::nth_element(log_weights.begin(), mth, log_weights.end(), std::greater<>());
  const double reference = *mth;
  double light = 1;  // the sum of those that are light for sure
  for (auto w = mth + 1; w != log_weights.end(); ++w) light += std::exp(*w - reference);
  std::sort(log_weights.begin(), mth, std::greater<>());
  size_t num_heavy = num_kept - 1;
  for (; num_heavy > 0; --num_heavy) {
    const double weight = std::exp(log_weights[num_heavy - 1] - reference);
    if (!(weight * static_cast<double>(num_kept - num_heavy) < light)) break;
    light += weight;
  }
  return {reference + std::log(light / static_cast<double>(num_kept - num_heavy)), num_heavy};
}

size_t count_heavier(std::span<const double> log_weights, double share) {
  const double least = log_sum_exp(log_weights) + std::log(share);
  size_t num_heavy = 0, num_light = 0;
  double light = 0;  // their sum, in multiples of the least
  for (const double w : log_weights) {
    if (w >= least) {
      ++num_heavy;
    } else if (w > -INFINITY) {
      ++num_light;
      light += std::exp(w - least);
    }
  }
  return num_heavy + (num_light == 0 ? 0 : static_cast<size_t>(std::max(1.0, std::ceil(light))));
}

void Reducer::reduce(std::span<const double> log_weights, size_t num_kept, double offset,
                     std::span<const size_t> order, std::vector<size_t>& kept,
                     std::vector<double>& kept_log_weights, size_t retained) {
  scratch_.clear();
  std::copy_if(log_weights.begin(), log_weights.end(), std::back_inserter(scratch_),
               [](double w) { return w > -INFINITY; });
  const size_t first = kept.size();
  if (scratch_.size() <= num_kept) {
    for (size_t i = 0; i < log_weights.size(); ++i) {
      if (!(log_weights[i] > -INFINITY)) continue;
      kept.push_back(i);
      kept_log_weights.push_back(log_weights[i]);
    }
    return;
  }
  if (num_kept == 0) return;
  const Threshold threshold = find_threshold(scratch_, num_kept);
  // The least heavy one is above κ and the heaviest light one below; where exp rounds, they are
  // told apart by their order.
  const double least_heavy =
      threshold.num_heavy == 0 ? INFINITY : scratch_[threshold.num_heavy - 1];
  const auto at = [&](size_t n) { return order.empty() ? n : order[n]; };
  if (retained != kNone && log_weights[retained] < least_heavy) {
    // A point of the retained one's stretch; the others lie whole numbers from it.
    double before = 0;
    for (size_t n = 0; at(n) != retained; ++n) {
      const double w = log_weights[at(n)];
      if (w > -INFINITY && w < least_heavy) before += std::exp(w - threshold.log_kappa);
    }
    const double point = before + offset * std::exp(log_weights[retained] - threshold.log_kappa);
    offset = point - std::floor(point);
  }
  // The numbers of the light that are chosen lie one apart: (offset + j) κ for j = 0, 1, ….
  size_t num_left = num_kept - threshold.num_heavy, spare = SIZE_MAX, last_light = SIZE_MAX;
  double swept = 0, target = offset;
  for (size_t n = 0; n < log_weights.size(); ++n) {
    const size_t i = at(n);
    if (!(log_weights[i] > -INFINITY)) continue;
    if (log_weights[i] >= least_heavy) {
      kept.push_back(i);
      continue;
    }
    if (num_left == 0) {
      // Rounding may have given its place to its neighbour.
      if (i == retained) kept[last_light] = i;
      continue;
    }
    swept += std::exp(log_weights[i] - threshold.log_kappa);
    if (swept > target || i == retained) {
      last_light = kept.size();
      kept.push_back(i);
      target += 1;
      --num_left;
    } else {
      spare = i;
    }
  }
  // Rounding may leave the sum of all just short of the last number.
  if (num_left == 1 && spare != SIZE_MAX) kept.push_back(spare);
  std::sort(kept.begin() + static_cast<std::ptrdiff_t>(first), kept.end());
  for (size_t n = first; n < kept.size(); ++n) {
    const double w = log_weights[kept[n]];
    kept_log_weights.push_back(w >= least_heavy ? w : threshold.log_kappa);
  }
}

}  // namespace scry
