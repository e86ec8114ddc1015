#include "compiler/pass_share.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "compiler/rewrite.h"

namespace scry {
namespace {

size_t mix(size_t seed, size_t value) {
  return seed * 1099511628211u ^ (value + 0x9e3779b97f4a7c15u);
}

size_t hash(const Node& node) {
  size_t h = static_cast<size_t>(node.op);
  for (NodeId in : node.in) h = mix(h, static_cast<size_t>(in));
  h = mix(mix(mix(h, static_cast<size_t>(node.attr.i)), static_cast<size_t>(node.attr.j)),
          static_cast<size_t>(node.attr.axis));
  h = mix(h, std::hash<std::string>()(node.attr.name));
  if (node.attr.data != nullptr) {
    for (double value : *node.attr.data) h = mix(h, std::hash<double>()(value));
  }
  return h;
}

/// Bit by bit: 0 and -0 are different numbers to 1/x, and a NaN is itself.
bool same_data(const Attr& a, const Attr& b) {
  if (a.data == b.data) return true;
  return a.data != nullptr && b.data != nullptr && a.data->size() == b.data->size() &&
         std::memcmp(a.data->data(), b.data->data(), a.data->size() * sizeof(double)) == 0;
}

}  // namespace

bool is_same(const Node& a, const Node& b) {
  return a.op == b.op && a.in == b.in && a.type == b.type && a.axes == b.axes &&
         a.attr.i == b.attr.i && a.attr.j == b.attr.j && a.attr.axis == b.attr.axis &&
         a.attr.name == b.attr.name && same_data(a.attr, b.attr);
}

NodeId SharedNodes::add(Graph& graph, const Node& node) {
  const size_t key = hash(node);
  auto at = std::lower_bound(index_.begin(), index_.end(), std::pair(key, NodeId{-1}));
  for (; at != index_.end() && at->first == key; ++at) {
    if (is_same(graph[at->second], node)) return at->second;
  }
  graph.nodes.push_back(node);
  index_.insert(at, {key, graph.size() - 1});
  return graph.size() - 1;
}

Graph share(const Graph& graph) {
  SharedNodes nodes;
  return rewrite(graph, [&](Graph& out, const Node& node) { return nodes.add(out, node); });
}

}  // namespace scry
