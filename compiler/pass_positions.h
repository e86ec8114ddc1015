// Graph → Graph: what varies over sequences or positions alone is computed once for all of them.
#pragma once
#include <functional>
#include <string>

#include "dsl/graph.h"

namespace scry {

/// Moves into `place` what varies over sequences or positions alone, costs something, and depends
/// on no input or parameter that `may_move` refuses; and leaves inputs in its place, over the same
/// axes. `place` returns each under that name, PREFIX.N, shared with what is already there. Lookups
/// and views stay: they are as cheap where they are used. Run after hoist_tables.
Graph hoist_positions(const Graph& graph, const std::string& prefix,
                      const std::function<bool(const Node& leaf)>& may_move, Graph& place);

}  // namespace scry
