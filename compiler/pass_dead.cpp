#include "compiler/pass_dead.h"

namespace scry {

std::vector<bool> find_live(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size(), false);
  for (const GraphOutput& output : graph.outputs) live[static_cast<size_t>(output.node)] = true;
  for (NodeId id = graph.size() - 1; id >= 0; --id) {
    if (!live[static_cast<size_t>(id)]) continue;
    for (NodeId in : graph[id].in) live[static_cast<size_t>(in)] = true;
  }
  return live;
}

Graph remove_dead(const Graph& graph) {
  const std::vector<bool> live = find_live(graph);
  Graph out;
  std::vector<NodeId> moved(graph.nodes.size(), -1);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!live[static_cast<size_t>(id)]) continue;
    Node node = graph[id];
    for (NodeId& in : node.in) in = moved[static_cast<size_t>(in)];
    out.nodes.push_back(std::move(node));
    moved[static_cast<size_t>(id)] = out.size() - 1;
  }
  out.outputs = graph.outputs;
  for (GraphOutput& output : out.outputs) output.node = moved[static_cast<size_t>(output.node)];
  return out;
}

}  // namespace scry
