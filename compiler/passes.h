// The list of passes that every graph goes through.
#pragma once
#include <functional>
#include <string>

#include "dsl/graph.h"

namespace scry {

/// Called with each pass's name and result.
using PassObserver = std::function<void(const std::string& pass, const Graph& result)>;

/// Runs all passes in order until nothing changes; verifies after each.
Graph optimize(Graph graph, const PassObserver& observe = {});

}  // namespace scry
