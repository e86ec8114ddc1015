#include "runtime/train/tally.h"

#include <algorithm>
#include <cmath>

namespace scry {

double Tally::operator[](std::string_view name) const {
  const auto found =
      std::find_if(sums_.begin(), sums_.end(), [&](const Sum& sum) { return sum.name == name; });
  return found == sums_.end() ? 0 : found->value;
}

bool Tally::contains(std::string_view name) const {
  return std::any_of(sums_.begin(), sums_.end(), [&](const Sum& sum) { return sum.name == name; });
}

bool Tally::is_reliable() const {
  const double num_symbols = (*this)[kSymbols];
  return (*this)[kOvershoot] <= 0.01 * num_symbols &&
         std::abs((*this)[kGap]) <= kMostGap * num_symbols &&
         std::abs((*this)[kDrift]) <= kMostDrift * num_symbols;
}

void Tally::add(std::string_view name, double value) {
  const auto found =
      std::find_if(sums_.begin(), sums_.end(), [&](const Sum& sum) { return sum.name == name; });
  if (found == sums_.end()) {
    sums_.push_back({std::string(name), value});
  } else {
    found->value += value;
  }
}

Tally& Tally::operator+=(const Tally& other) {
  for (const Sum& sum : other.sums_) add(sum.name, sum.value);
  return *this;
}

double Tally::root_mean(std::string_view name) const {
  const double count = (*this)[kCalibrated];
  return count > 0 ? std::sqrt((*this)[name] / count) : NAN;
}

Tally merge_goals(const Tally& first, const Tally& second) {
  Tally merged = first;
  for (const Tally::Sum& sum : second.sums()) {
    if (sum.name == Tally::kSequences || sum.name == Tally::kSymbols) continue;
    if (sum.name == Tally::kEss) merged.add(sum.name, -merged[sum.name]);
    merged.add(sum.name, sum.value);
  }
  return merged;
}

}  // namespace scry
