// Graphs written by hand, briefly.
#pragma once
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "compiler/reference.h"
#include "dsl/graph.h"

namespace scry::test {

inline const Axes kPrefixTag = Axes::prefix() | Axes::tag();
inline const Axes kSequenceTag = Axes::sequence() | Axes::tag();
inline const Axes kPositionTag = Axes::position() | Axes::tag();

/// 5 prefixes at 4 positions of 2 sequences, whose lengths are 3 and 2, and 3 tags.
inline const Extent kSmallExtent{5, 4, 2, 3, {0, 3, 1, 2, 3}, {0, 1, 0, 1}, {3, 2}};

class GraphBuilder {
 public:
  NodeId real(const std::string& name, Shape shape, Axes axes) {
    return graph.add_leaf(Op::kInput, Type::real(shape), axes, {.name = name, .axes = axes}, {});
  }
  NodeId integer(const std::string& name, int64_t size, Axes axes) {
    return graph.add_leaf(Op::kInput, Type::integer(0, size), axes, {.name = name, .axes = axes},
                          {});
  }
  NodeId param(const std::string& name, Shape shape) {
    return graph.add_leaf(Op::kParam, Type::real(shape), Axes::none(), {.name = name}, {});
  }
  NodeId constant(Shape shape, std::vector<double> values) {
    return graph.add_constant(shape, std::move(values), {});
  }
  NodeId number(double value) { return graph.add_scalar(value, {}); }
  NodeId number(int value) { return graph.add_integer(value, {}); }
  NodeId add(Op op, std::vector<NodeId> in, Attr attr = {}) {
    return graph.add(op, std::move(in), std::move(attr), {});
  }
  /// Names an output, over the node's own axes unless told otherwise.
  void output(const std::string& name, NodeId node) { output(name, node, graph[node].axes); }
  void output(const std::string& name, NodeId node, Axes axes, bool accumulate = false) {
    graph.outputs.push_back({name, node, axes, accumulate});
  }
  /// The graph with the one output `out`.
  Graph finish(NodeId node) { return finish(node, graph[node].axes); }
  Graph finish(NodeId node, Axes axes) {
    graph.outputs = {{"out", node, axes}};
    return graph;
  }

  Graph graph;
};

inline std::string kernel_name(size_t i) { return fmt::format("k{}", i); }

inline int count(const Graph& graph, Op op) {
  int n = 0;
  for (const Node& node : graph.nodes) n += node.op == op ? 1 : 0;
  return n;
}

}  // namespace scry::test
