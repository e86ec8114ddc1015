// What a decision costs: loss(z | y) of eq:risk.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "dsl/registry.h"
#include "dsl/task.h"

namespace scry {

enum class LossKind : uint8_t {
  kHamming,  ///< wrong tags, counted
  kWhole,    ///< 1 if any tag is wrong
  kSpans,    ///< 1 − F1 of the labelled spans (spans.h); 0 where neither has any
  kEdit,     ///< Levenshtein's distance of the tags as strings
  kOwn,      ///< the model file's (Bundle::loss)
};
/// "hamming", "whole", "spans", "edit", "own": by LossKind.
std::span<const char* const> loss_names();

/// The fewest tags to be inserted, left out or replaced that make one of the other. Takes time in
/// proportion to the length times the distance.
int edit_distance(std::span<const int32_t> a, std::span<const int32_t> b);

/// The loss as a function. Throws Error if the alphabet has no spans for kSpans, or if `own` is
/// missing for kOwn.
Loss make_loss(LossKind kind, const Task& task, const Loss& own = {});

}  // namespace scry
