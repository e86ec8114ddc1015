// Graph → Graph: equal operations on equal operands become one node.
#pragma once
#include "dsl/graph.h"

namespace scry {
Graph share(const Graph& graph);

/// Whether two operations of one graph have the same value.
bool is_same(const Node& a, const Node& b);

/// Adds `node`, unless `graph` holds an equal one already (found through `index`).
class SharedNodes {
 public:
  NodeId add(Graph& graph, const Node& node);

 private:
  std::vector<std::pair<size_t, NodeId>> index_;  // hash → node, sorted
};
}  // namespace scry
