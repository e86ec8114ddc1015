// Graph → Graph: what depends on parameters and a symbol alone is looked up, not computed.
#pragma once
#include "dsl/graph.h"

namespace scry {

/// f(T[i]) = f(T)[i] for a table T of parameters: afterwards the product W·embedding[i] is a row of
/// the table embedding·Wᵀ. Tables of more than `max_elements` are left alone.
Graph lift_lookups(const Graph& graph, int64_t max_elements = int64_t{1} << 24);

/// Moves the parameters-only parts of `graph` into `tables` (as its outputs `table.N`, shared with
/// those already there) and leaves inputs of that name in their place.
Graph hoist_tables(const Graph& graph, Graph& tables);

}  // namespace scry
