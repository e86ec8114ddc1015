#include "runtime/decode/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "runtime/decode/spans.h"

namespace scry {
namespace {

constexpr std::array kLossNames{"hamming", "whole", "spans", "edit", "own"};

using Tags = std::span<const int32_t>;

/// The distance, if it is at most `bound`; else something above it. Alignments of two strings that
/// differ by at most `bound` edits never leave the band |i − j| ≤ (bound + difference of lengths) /
/// 2.
int distance_within(Tags a, Tags b, int bound) {
  const int rows = static_cast<int>(a.size()), columns = static_cast<int>(b.size());
  const int difference = std::abs(rows - columns);
  if (difference > bound) return bound + 1;
  const int width = (bound + difference) / 2, above = bound + 1;
  std::vector<int> last(static_cast<size_t>(columns) + 1), next(last.size(), above);
  for (int j = 0; j <= columns; ++j) last[static_cast<size_t>(j)] = j <= width ? j : above;
  for (int i = 1; i <= rows; ++i) {
    const int first = std::max(1, i - width), end = std::min(columns, i + width);
    next[static_cast<size_t>(first) - 1] = first == 1 && i <= width ? i : above;
    for (int j = first; j <= end; ++j) {
      const auto at = static_cast<size_t>(j);
      const int changed = last[at - 1] + (a[static_cast<size_t>(i) - 1] == b[at - 1] ? 0 : 1);
      next[at] = std::min({changed, last[at] + 1, next[at - 1] + 1});
    }
    if (end < columns) next[static_cast<size_t>(end) + 1] = above;
    last.swap(next);
  }
  return last[static_cast<size_t>(columns)];
}

}  // namespace

std::span<const char* const> loss_names() { return kLossNames; }

int edit_distance(Tags a, Tags b) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) {
    a = a.subspan(1);
    b = b.subspan(1);
  }
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a = a.first(a.size() - 1);
    b = b.first(b.size() - 1);
  }
  const int longest = static_cast<int>(std::max(a.size(), b.size()));
  for (int bound = 2;; bound = std::min(longest, 2 * bound)) {
    const int distance = distance_within(a, b, bound);
    if (distance <= bound || bound >= longest) return distance;
  }
}

Loss make_loss(LossKind kind, const Task& task, const Loss& own) {
  switch (kind) {
    case LossKind::kHamming:
      return [](Tags decided, Tags truth) {
        double wrong = 0;
        for (size_t t = 0; t < truth.size(); ++t) wrong += decided[t] == truth[t] ? 0 : 1;
        return wrong;
      };
    case LossKind::kWhole:
      return
          [](Tags decided, Tags truth) { return std::ranges::equal(decided, truth) ? 0.0 : 1.0; };
    case LossKind::kSpans:
      return [tags = std::make_shared<const SpanTags>(task.y)](Tags decided, Tags truth) {
        return 1 - tags->count(decided, truth).f1();
      };
    case LossKind::kEdit:
      return [](Tags decided, Tags truth) -> double { return edit_distance(decided, truth); };
    case LossKind::kOwn:
      break;
  }
  if (!own) {
    throw Error(
        "the model file has no loss of its own: return {model, proposal, loss} from SCRY_MODEL()");
  }
  return [own](Tags decided, Tags truth) {
    const double loss = own(decided, truth);
    if (!(loss >= 0) || std::isinf(loss))
      throw Error(fmt::format("the model file's loss is {}, and not a number from 0 on", loss));
    return loss;
  };
}

}  // namespace scry
