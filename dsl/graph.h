// What the DSL leaves for the compiler: a list of operations in which operands come first.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "dsl/op.h"

namespace scry {

using NodeId = int;

struct Node {
  Op op;
  std::vector<NodeId> in;
  Type type;
  Axes axes;
  Attr attr;
  Where where;
};

/// A value that a graph returns, once per index of `axes` (which cover the node's own). An
/// accumulated output is added to what its buffer holds.
struct GraphOutput {
  std::string name;
  NodeId node = 0;
  Axes axes = {};
  bool accumulate = false;
};

/// A function from named inputs and parameters to named outputs.
class Graph {
 public:
  std::vector<Node> nodes;
  std::vector<GraphOutput> outputs;

  const Node& operator[](NodeId id) const { return nodes[static_cast<size_t>(id)]; }
  NodeId size() const { return static_cast<NodeId>(nodes.size()); }

  /// Appends an operation; its type and axes follow from its operands. Throws ModelError.
  NodeId add(Op op, std::vector<NodeId> in, Attr attr, Where where);
  NodeId add_leaf(Op op, Type type, Axes axes, Attr attr, Where where);
  NodeId add_constant(Shape shape, std::vector<double> values, Where where);
  NodeId add_scalar(double value, Where where) { return add_constant({}, {value}, where); }
  NodeId add_integer(int64_t value, Where where);
  /// The output's node, or -1.
  NodeId find_output(std::string_view name) const;
};

/// The node is a position of its sequence for certain: t or 0. (T - 1 is none if T = 0.)
bool is_position(const Node& node);

/// The axes of `op` over operands with these axes: every node varies with what its operands vary
/// with, except that kCandidates turns the tag axis into rows and sums name the axes they keep.
Axes infer_axes(Op op, std::span<const Axes> in, const Attr& attr);

/// Throws Error unless operands precede their uses and every type and axis set is the inferred one.
void verify(const Graph& graph);

/// One line per node, stable across runs: "%4 = matmul %1, %3 : [96] @ prefix".
std::string to_string(const Graph& graph);
std::string to_string(const Graph& graph, NodeId id);

}  // namespace scry
