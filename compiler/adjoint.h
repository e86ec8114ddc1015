// Reverse-mode differentiation on graphs: Graph → Graph.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dsl/graph.h"

namespace scry {

/// A graph that, given the inputs of `graph` and a seed `d.NAME` for each differentiable output in
/// `seeds`, adds to `d.INPUT` the gradient for each input or parameter in `wrt`.
/// The forward values that gradients need are computed anew, but for outputs that are `given` as
/// inputs of their names; outputs that it `keeps` stay outputs.
Graph adjoint(const Graph& graph, std::span<const std::string> seeds,
              std::span<const std::string> wrt, std::span<const std::string> keeps = {},
              std::span<const std::string> given = {});

/// Which nodes a gradient flows through: they depend on an input or parameter in `wrt`, and an
/// output in `seeds` on them, differentiably.
std::vector<bool> find_active(const Graph& graph, std::span<const std::string> seeds,
                              std::span<const std::string> wrt);

/// What an operation's adjoint row sees: the node y = op(a, b, …), its gradient dy, and where to
/// add the operands' gradients.
class AdjointBuilder {
 public:
  AdjointBuilder(Graph& graph, size_t num_forward) : graph_(graph), pending_(num_forward) {}

  NodeId y() const { return current_; }
  NodeId dy() const { return gradient_; }
  NodeId in(size_t i) const { return node().in[i]; }
  const Node& node() const { return graph_[current_]; }
  const Node& node(NodeId id) const { return graph_[id]; }

  /// Adds `gradient`, summed over what operand i was broadcast along, to operand i's gradient.
  void add(size_t i, NodeId gradient);
  /// Adds `gradient` to the part of operand i that a slice took.
  void add_slice(size_t i, NodeId gradient, const Attr& slice);
  bool needs(size_t i) const { return active_[static_cast<size_t>(in(i))]; }

  NodeId make(Op op, std::vector<NodeId> in, Attr attr = {}) {
    return graph_.add(op, std::move(in), std::move(attr), node().where);
  }
  NodeId number(double value) { return graph_.add_scalar(value, node().where); }
  NodeId zeros(Shape shape);
  /// By value: adding a node moves those that a reference would point into.
  NodeId reshape(NodeId id, Shape shape);

  // For adjoint().
  void set_active(std::vector<bool> active) { active_ = std::move(active); }
  void seed(NodeId id, NodeId gradient);
  /// The node's whole gradient, or nothing if none reached it.
  std::optional<NodeId> take(NodeId id);
  void differentiate(NodeId id, NodeId gradient);

 private:
  struct SlicePart {
    Attr slice;
    NodeId gradient;
  };
  struct Pending {
    std::vector<NodeId> whole;
    std::vector<SlicePart> parts;
  };
  NodeId join_parts(NodeId id, std::vector<SlicePart> parts);
  NodeId spread_slice(NodeId gradient, const Shape& shape, const Attr& slice);
  NodeId sum_rows(NodeId id);
  NodeId reduce_to(NodeId gradient, Shape shape, Axes axes);

  Graph& graph_;
  std::vector<Pending> pending_;
  std::vector<bool> active_;
  NodeId current_ = -1, gradient_ = -1;
};

}  // namespace scry
