// Graph → Graph: operations on constants alone become constants.
#pragma once
#include "dsl/graph.h"

namespace scry {
Graph fold_constants(const Graph& graph);
}  // namespace scry
