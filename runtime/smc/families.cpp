#include "runtime/smc/families.h"

#include <algorithm>
#include <cmath>

namespace scry {

void Families::weigh(std::span<const double> log_weights, size_t family_size) {
  family_size_ = family_size;
  members_.weigh(log_weights);
}

void Families::reduce(size_t num_kept, double family_offset, double member_offset,
                      std::vector<size_t>& kept, std::vector<double>& kept_log_weights) {
  if (members_.num_above() <= num_kept || num_kept == 0) {
    members_.reduce(num_kept, family_offset, {}, kept, kept_log_weights);
    return;
  }
  log_kappa_ = members_.log_threshold(num_kept);
  kept_.clear();
  weigh_families();
  choose_families(num_kept - kept_.size(), family_offset);
  for (size_t n = 0; n < chosen_.size(); ++n) {
    const size_t family = chosen_[n];
    // Multiples of the golden ratio: of neighbours, few or many, the offsets are spread evenly.
    constexpr double kGolden = 0.61803398874989485;
    const double sum = member_offset + kGolden * static_cast<double>(family);
    const double offset = sum - std::floor(sum);
    if (num_places_[n] == 1) {
      choose_one(family, chosen_masses_[n], offset);
    } else {
      choose_some(family, chosen_masses_[n], num_places_[n], offset);
    }
  }
  std::sort(kept_.begin(), kept_.end());
  for (const auto& [index, log_weight] : kept_) {
    kept.push_back(index);
    kept_log_weights.push_back(log_weight);
  }
}

/// Keeps the heavy ones on the way.
void Families::weigh_families() {
  const std::span<const double> log_weights = members_.log_weights();
  masses_.assign(log_weights.size() / family_size_, 0.0);
  num_light_.assign(masses_.size(), 0);
  for (size_t family = 0, i = 0; family < masses_.size(); ++family) {
    for (const size_t end = i + family_size_; i < end; ++i) {
      if (members_.is_heavy(i)) {
        kept_.emplace_back(i, log_weights[i]);
      } else if (const double share = members_.share(i); share > 0) {
        masses_[family] += share;
        ++num_light_[family];
      }
    }
  }
}

void Families::choose_families(size_t num_places, double offset) {
  // Those that weigh enough have room for so many; what they cannot fill is left to the others.
  size_t num_families = 0, room = 0;
  for (size_t family = 0; family < masses_.size(); ++family) {
    num_families += masses_[family] > 0 ? 1 : 0;
    if (masses_[family] >= kLeastShare) room += num_light_[family] - 1;
  }
  const size_t enough = std::max(count_heavier(masses_, num_families, kLeastShare),
                                 num_places - std::min(num_places, room));
  const size_t num_chosen = std::min(num_places, enough);
  chosen_.clear();
  chosen_masses_.clear();
  if (num_families <= num_chosen) {
    for (size_t family = 0; family < masses_.size(); ++family) {
      if (masses_[family] > 0) chosen_.push_back(family);
    }
    for (const size_t family : chosen_) chosen_masses_.push_back(masses_[family]);
  } else {
    families_.find_threshold(masses_, num_chosen);
    families_.sweep(masses_, offset, {}, chosen_);
    for (const size_t family : chosen_) {
      const double mass = masses_[family];
      chosen_masses_.push_back(families_.is_heavy(mass) ? mass : families_.threshold());
    }
  }
  share_places(num_places);
}

/// One for each, and the others by Webster's rule: always to the one that weighs most for each of
/// the places that it has, and half a one.
void Families::share_places(size_t num_places) {
  num_places_.assign(chosen_.size(), 1);
  if (chosen_.size() == num_places) return;
  claims_.clear();
  const auto claim = [&](size_t n) {
    if (num_places_[n] == num_light_[chosen_[n]]) return;
    claims_.emplace_back(chosen_masses_[n] / (static_cast<double>(num_places_[n]) + 0.5), n);
    std::push_heap(claims_.begin(), claims_.end());
  };
  for (size_t n = 0; n < chosen_.size(); ++n) claim(n);
  for (size_t left = num_places - chosen_.size(); left > 0 && !claims_.empty(); --left) {
    const size_t n = claims_.front().second;
    std::pop_heap(claims_.begin(), claims_.end());
    claims_.pop_back();
    ++num_places_[n];
    claim(n);
  }
}

/// As choose_some does, of one.
void Families::choose_one(size_t family, double mass, double offset) {
  const size_t first = family * family_size_;
  double left = offset * masses_[family];
  size_t chosen = Reduction::kNone;
  for (size_t i = first; i < first + family_size_ && left >= 0; ++i) {
    const double share = members_.share(i);
    if (members_.is_heavy(i) || share == 0) continue;
    chosen = i;
    left -= share;
  }
  kept_.emplace_back(chosen, log_kappa_ + std::log(mass));
}

void Families::choose_some(size_t family, double mass, size_t num_places, double offset) {
  const size_t first = family * family_size_;
  const double scale = mass / masses_[family];
  const auto log_weight_of = [&](size_t i) { return members_.log_weights()[i] + std::log(scale); };
  weights_in_family_.resize(family_size_);
  for (size_t n = 0; n < family_size_; ++n) {
    const size_t i = first + n;
    weights_in_family_[n] = members_.is_heavy(i) ? 0 : members_.share(i);
  }
  if (num_places == num_light_[family]) {
    for (size_t n = 0; n < family_size_; ++n) {
      if (weights_in_family_[n] > 0) kept_.emplace_back(first + n, log_weight_of(first + n));
    }
    return;
  }
  family_.find_threshold(weights_in_family_, num_places);
  kept_in_family_.clear();
  family_.sweep(weights_in_family_, offset, {}, kept_in_family_);
  const double log_threshold = log_kappa_ + std::log(family_.threshold() * scale);
  for (const size_t n : kept_in_family_) {
    const bool is_heavy = family_.is_heavy(weights_in_family_[n]);
    kept_.emplace_back(first + n, is_heavy ? log_weight_of(first + n) : log_threshold);
  }
}

}  // namespace scry
