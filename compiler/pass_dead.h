// Graph → Graph: nodes that no output needs are gone.
#pragma once
#include "dsl/graph.h"

namespace scry {
Graph remove_dead(const Graph& graph);

/// Which nodes an output needs.
std::vector<bool> find_live(const Graph& graph);
}  // namespace scry
