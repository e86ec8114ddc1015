#include "runtime/smc/reduce.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace scry {

/// κ lies between the M-th weight and the next heavier ones, so the M heaviest and the sum of all
/// others decide. The heavier ones are looked at, from the lightest, only as long as they are
/// lighter than κ. That is the least k with w_(k+1) < κ_k, as whoever is above κ leaves κ lower,
/// for the next to be above it too.
double Reduction::find_threshold(std::span<const double> weights, size_t num_kept) {
  const auto place = static_cast<std::ptrdiff_t>(num_kept) - 1;
  scratch_.assign(weights.begin(), weights.end());
  std::nth_element(scratch_.begin(), scratch_.begin() + place, scratch_.end(), std::greater<>());
  const double at_place = scratch_[num_kept - 1];
  double light = 0;  // the sum of those that are light for sure
  for (size_t n = num_kept - 1; n < scratch_.size(); ++n) light += scratch_[n];
  std::sort(scratch_.begin(), scratch_.begin() + place, std::greater<>());
  size_t num_heavy = num_kept - 1;
  for (; num_heavy > 0; --num_heavy) {
    const double weight = scratch_[num_heavy - 1];
    if (weight * static_cast<double>(num_kept - num_heavy) >= light && weight > scratch_[num_heavy])
      break;
    light += weight;
  }
  num_heavy_ = num_heavy;
  num_light_kept_ = num_kept - num_heavy;
  heaviest_light_ = scratch_[num_heavy];
  kappa_ = light / static_cast<double>(num_light_kept_);
  return at_place;
}

double Reduction::offset_to_retain(std::span<const double> weights, double offset,
                                   std::span<const size_t> order, size_t retained) const {
  // A point of the retained one's stretch; the others lie whole numbers from it.
  double before = 0;
  for (size_t n = 0;; ++n) {
    const size_t i = order.empty() ? n : order[n];
    if (i == retained) break;
    if (!is_heavy(weights[i])) before += weights[i] / kappa_;
  }
  const double point = before + offset * weights[retained] / kappa_;
  return point - std::floor(point);
}

void Reduction::sweep(std::span<const double> weights, double offset, std::span<const size_t> order,
                      std::vector<size_t>& kept, size_t retained) const {
  // The numbers of the light that are chosen lie one apart: (offset + j) κ for j = 0, 1, ….
  const size_t first = kept.size();
  size_t num_left = num_light_kept_, spare = kNone, last_light = kNone;
  double swept = 0, target = offset;
  for (size_t n = 0; n < weights.size(); ++n) {
    const size_t i = order.empty() ? n : order[n];
    if (is_heavy(weights[i])) {
      kept.push_back(i);
      continue;
    }
    if (num_left == 0) {
      // Rounding may have given its place to its neighbour.
      if (i == retained) kept[last_light] = i;
      continue;
    }
    swept += weights[i] / kappa_;
    if ((swept > target && weights[i] > 0) || i == retained) {
      last_light = kept.size();
      kept.push_back(i);
      target += 1;
      --num_left;
    } else if (weights[i] > 0) {
      spare = i;
    }
  }
  // Rounding may leave the sum of all just short of the last number.
  if (num_left == 1 && spare != kNone) kept.push_back(spare);
  std::sort(kept.begin() + static_cast<std::ptrdiff_t>(first), kept.end());
}

size_t count_heavier(std::span<const double> weights, size_t num_above, double least) {
  size_t num_heavy = 0;
  double light = 0;
  for (const double w : weights) {
    if (w >= least) {
      ++num_heavy;
    } else {
      light += w;
    }
  }
  return num_heavy + (num_heavy == num_above
                          ? 0
                          : static_cast<size_t>(std::max(1.0, std::ceil(light / least))));
}

void Reducer::relate_to(double reference) {
  reference_ = reference;
  weights_.resize(log_weights_.size());
  for (size_t i = 0; i < weights_.size(); ++i)
    weights_[i] = log_weights_[i] > -INFINITY ? std::exp(log_weights_[i] - reference) : 0;
}

void Reducer::weigh(std::span<const double> log_weights) {
  log_weights_ = log_weights;
  top_ = -INFINITY;
  num_above_ = 0;
  for (const double w : log_weights) {
    top_ = std::max(top_, w);
    num_above_ += w > -INFINITY ? 1 : 0;
  }
  log_total_ = -INFINITY;
  if (num_above_ == 0) return;
  relate_to(top_);
  double total = 0;
  for (const double w : weights_) total += w;
  log_total_ = top_ + std::log(total);
}

size_t Reducer::count_heavier(double share) const {
  if (num_above_ == 0) return 0;
  return scry::count_heavier(weights_, num_above_, share * std::exp(log_total_ - reference_));
}

double Reducer::log_threshold(size_t num_kept) {
  constexpr double kLeast = 0x1p-900;
  if (reduction_.find_threshold(weights_, num_kept) < kLeast) {
    // Too far from the heaviest for numbers: relative to the one of that place.
    scratch_.assign(log_weights_.begin(), log_weights_.end());
    const auto place = scratch_.begin() + static_cast<std::ptrdiff_t>(num_kept) - 1;
    std::nth_element(scratch_.begin(), place, scratch_.end(), std::greater<>());
    relate_to(*place);
    reduction_.find_threshold(weights_, num_kept);
  }
  return reference_ + std::log(reduction_.threshold());
}

void Reducer::reduce(size_t num_kept, double offset, std::span<const size_t> order,
                     std::vector<size_t>& kept, std::vector<double>& kept_log_weights,
                     size_t retained) {
  if (num_above_ <= num_kept) {
    for (size_t i = 0; i < log_weights_.size() && num_above_ > 0; ++i) {
      if (!(log_weights_[i] > -INFINITY)) continue;
      kept.push_back(i);
      kept_log_weights.push_back(log_weights_[i]);
    }
    return;
  }
  if (num_kept == 0) return;
  const double log_kappa = log_threshold(num_kept);
  if (retained != kNone && !is_heavy(retained))
    offset = reduction_.offset_to_retain(weights_, offset, order, retained);
  const size_t first = kept.size();
  reduction_.sweep(weights_, offset, order, kept, retained);
  for (size_t n = first; n < kept.size(); ++n)
    kept_log_weights.push_back(is_heavy(kept[n]) ? log_weights_[kept[n]] : log_kappa);
}

}  // namespace scry
