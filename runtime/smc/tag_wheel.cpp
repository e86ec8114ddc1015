#include "runtime/smc/tag_wheel.h"

#include <algorithm>
#include <cmath>

namespace scry {
namespace {

/// The first index with cumulated > target. Few are counted without branches, which the random
/// target would make mispredicted.
int32_t find_slice(const double* cumulated, int size, double target) {
  if (size > 16) {
    return static_cast<int32_t>(std::upper_bound(cumulated, cumulated + size, target) - cumulated);
  }
  int32_t below = 0;
  for (int i = 0; i < size; ++i) below += cumulated[i] <= target ? 1 : 0;
  return below;
}

}  // namespace

double TagWheel::set(const CandidateTable& table, size_t row, bool looks_ahead) {
  const auto num_tags = static_cast<size_t>(table.num_tags);
  cumulated_.resize(num_tags);
  const double* scores = table.scores.data() + row * num_tags;
  double* const logits = cumulated_.data();
  if (looks_ahead && !table.compats.empty()) {
    const double* compats = table.compats.data() + row * num_tags;
    for (size_t tag = 0; tag < num_tags; ++tag)
      logits[tag] = table.scale * scores[tag] + table.scale * compats[tag];
  } else {
    for (size_t tag = 0; tag < num_tags; ++tag) logits[tag] = table.scale * scores[tag];
  }
  double top = -INFINITY;
  for (size_t tag = 0; tag < num_tags; ++tag) top = std::max(top, logits[tag]);
  if (top == -INFINITY) return top;
  double total = 0;
  for (size_t tag = 0; tag < num_tags; ++tag) {
    total += std::exp(logits[tag] - top);
    cumulated_[tag] = total;
  }
  return top + std::log(total);
}

int32_t TagWheel::find(double u) const {
  // The product is below the total, so a slice is found.
  return find_slice(cumulated_.data(), static_cast<int>(cumulated_.size()), u * cumulated_.back());
}

TagWheel::Hit TagWheel::hit(double u) const {
  const int32_t tag = find(u);
  const double begin = begin_of(tag), end = cumulated_[static_cast<size_t>(tag)];
  const double within = (u * cumulated_.back() - begin) / (end - begin);
  return {tag, std::clamp(within, 0x1p-53, 1 - 0x1p-53)};
}

double TagWheel::share(int32_t tag) const {
  return (cumulated_[static_cast<size_t>(tag)] - begin_of(tag)) / cumulated_.back();
}

}  // namespace scry
