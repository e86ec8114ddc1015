#include "compiler/pass_keep.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/adjoint.h"
#include "compiler/op_table.h"
#include "compiler/pass_dead.h"
#include "compiler/pass_share.h"

namespace scry {
namespace {

/// For each node of `again` the node of `forward` that has its value, or -1.
std::vector<NodeId> match(const Graph& forward, const Graph& again) {
  std::vector<NodeId> found(again.nodes.size(), -1);
  for (size_t id = 0; id < found.size(); ++id) {
    Node node = again.nodes[id];
    if (node.op == Op::kInput) {
      const auto output =
          std::find_if(forward.outputs.begin(), forward.outputs.end(),
                       [&](const GraphOutput& o) { return o.name == node.attr.name; });
      if (output != forward.outputs.end()) {
        // Once per index of its axes: a node with fewer would be read in another way.
        if (forward[output->node].axes == node.axes) found[id] = output->node;
        continue;
      }
    }
    for (NodeId& in : node.in) in = found[static_cast<size_t>(in)];
    if (std::find(node.in.begin(), node.in.end(), -1) != node.in.end()) continue;
    const auto same = std::find_if(forward.nodes.begin(), forward.nodes.end(),
                                   [&](const Node& other) { return is_same(node, other); });
    if (same != forward.nodes.end()) found[id] = static_cast<NodeId>(same - forward.nodes.begin());
  }
  return found;
}

}  // namespace

std::vector<std::string> keep_products(Graph& forward, Graph& again,
                                       std::span<const std::string> seeds,
                                       std::span<const std::string> wrt) {
  const std::vector<NodeId> found = match(forward, again);
  const std::vector<bool> needed = find_live(adjoint(again, seeds, wrt));
  std::vector<std::string> names;
  for (size_t id = 0; id < found.size(); ++id) {
    const Node& node = again.nodes[id];
    if (found[id] < 0 || !needed[id] || !is_product(node.op) || !node.axes.has_prefix()) continue;
    const std::string& name = names.emplace_back(fmt::format("kept.{}", names.size()));
    forward.outputs.push_back({name, found[id], node.axes});
    again.outputs.push_back({name, static_cast<NodeId>(id), node.axes});
  }
  return names;
}

}  // namespace scry
