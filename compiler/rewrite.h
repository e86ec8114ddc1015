// How passes rebuild graphs.
#pragma once
#include <vector>

#include "dsl/graph.h"

namespace scry {

/// Rebuilds `graph` node by node. `rule(out, node)` sees each node with its operands already in
/// `out`, and returns the node that replaces it, or -1 to keep it.
template <class Rule>
Graph rewrite(const Graph& graph, Rule rule) {
  Graph out;
  std::vector<NodeId> moved;
  moved.reserve(graph.nodes.size());
  for (const Node& old : graph.nodes) {
    Node node = old;
    for (NodeId& in : node.in) in = moved[static_cast<size_t>(in)];
    NodeId id = rule(out, node);
    if (id < 0) {
      if (info(node.op).cls == OpClass::kLeaf) {
        id = out.add_leaf(node.op, node.type, node.axes, std::move(node.attr), node.where);
      } else {
        id = out.add(node.op, std::move(node.in), std::move(node.attr), node.where);
      }
    }
    moved.push_back(id);
  }
  out.outputs = graph.outputs;
  for (GraphOutput& output : out.outputs) output.node = moved[static_cast<size_t>(output.node)];
  return out;
}

}  // namespace scry
