// Graph → Graph: nodes that no output needs are gone.
#pragma once
#include "dsl/graph.h"

namespace scry {
Graph remove_dead(const Graph& graph);
}  // namespace scry
