// Graph → Graph: [a; b] W = a W₁ + b W₂ where a and b vary over different axes.
#pragma once
#include "dsl/graph.h"

namespace scry {
/// Afterwards no product has a concatenation of vectors with different axes as its left operand, so
/// that each part is multiplied over its own axes only.
Graph split_concat(const Graph& graph);
}  // namespace scry
