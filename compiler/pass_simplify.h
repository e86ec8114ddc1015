// Graph → Graph: algebraic clean-up. Values stay the same, except for the order of rounding.
#pragma once
#include "dsl/graph.h"

namespace scry {
/// Afterwards no node adds 0, multiplies by 1, undoes its operand (transpose, reshape, neg), takes
/// a slice of a concatenation part, or indexes an elementwise result (it indexes the operands).
Graph simplify(const Graph& graph);
}  // namespace scry
