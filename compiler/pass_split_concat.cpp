#include "compiler/pass_split_concat.h"

#include <algorithm>

#include "compiler/rewrite.h"

namespace scry {
namespace {

struct Part {
  NodeId node;
  int64_t start, size;
  Axes axes;
};

/// Neighbours with the same axes stay together.
std::vector<Part> parts_by_axes(Graph& out, const Node& concat) {
  std::vector<Part> parts;
  std::vector<std::vector<NodeId>> members;
  int64_t at = 0;
  for (NodeId id : concat.in) {
    const int64_t size = out[id].type.shape[0];
    if (!parts.empty() && parts.back().axes == out[id].axes) {
      parts.back().size += size;
      members.back().push_back(id);
    } else {
      parts.push_back({id, at, size, out[id].axes});
      members.push_back({id});
    }
    at += size;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (members[i].size() > 1) parts[i].node = out.add(Op::kConcat, members[i], {}, concat.where);
  }
  return parts;
}

}  // namespace

Graph split_concat(const Graph& graph) {
  return rewrite(graph, [](Graph& out, const Node& node) -> NodeId {
    if (node.op != Op::kMatMul || out[node.in[0]].op != Op::kConcat) return -1;
    const Node concat = out[node.in[0]];
    if (concat.type.shape.rank() != 1) return -1;
    const Axes first = out[concat.in[0]].axes;
    if (std::all_of(concat.in.begin(), concat.in.end(),
                    [&](NodeId id) { return out[id].axes == first; }))
      return -1;
    std::vector<Part> parts = parts_by_axes(out, concat);
    // Fewest indices first, so that partial sums stay over few axes too.
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      const auto rank = [](Axes x) {
        return (x.has_sequence() ? 1 : 0) + (x.has_position() ? 2 : 0) + (x.has_prefix() ? 3 : 0) +
               (x.has_tag() ? 4 : 0);
      };
      return rank(a.axes) < rank(b.axes);
    });
    NodeId total = -1;
    for (const Part& part : parts) {
      const bool transposed = node.attr.j != 0;
      const NodeId rows =
          out.add(Op::kSlice, {node.in[1]},
                  {.i = part.start, .j = part.size, .axis = transposed ? 1 : 0}, node.where);
      const NodeId product = out.add(Op::kMatMul, {part.node, rows}, node.attr, node.where);
      total = total < 0 ? product : out.add(Op::kAdd, {total, product}, {}, node.where);
    }
    return total;
  });
}

}  // namespace scry
