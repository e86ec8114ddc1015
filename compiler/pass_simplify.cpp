#include "compiler/pass_simplify.h"

#include <algorithm>

#include "compiler/rewrite.h"

namespace scry {
namespace {

class Simplifier {
 public:
  Simplifier(Graph& out, const Node& node) : out_(out), node_(node) {}

  /// The node that replaces node_, or -1.
  NodeId run() {
    switch (node_.op) {
      case Op::kAdd:
        if (is_constant(0, 0) && fits(1)) return in(1);
        return is_constant(1, 0) && fits(0) ? in(0) : -1;
      case Op::kSub:
        return is_constant(1, 0) && fits(0) ? in(0) : -1;
      case Op::kMul:
        if (is_constant(0, 1) && fits(1)) return in(1);
        return is_constant(1, 1) && fits(0) ? in(0) : -1;
      case Op::kDiv:
        return is_constant(1, 1) && fits(0) ? in(0) : -1;
      case Op::kNeg:
      case Op::kTranspose:
        return operand(0).op == node_.op ? operand(0).in[0] : -1;
      case Op::kExpand:
        return fits(0) ? in(0) : -1;
      case Op::kReshape:
        if (fits(0)) return in(0);
        return operand(0).op == Op::kReshape ? reshape(operand(0).in[0]) : -1;
      case Op::kSelect:
        return operand(0).op == Op::kConst ? chosen(operand(0).attr.data->front() != 0 ? 1 : 2)
                                           : -1;
      case Op::kMatMul:
        return absorb_transpose();
      case Op::kConcat:
        return node_.in.size() == 1 ? in(0) : -1;
      case Op::kSlice:
        return simplify_slice();
      case Op::kRow:
      case Op::kElement:
        return push_index();
      default:
        return -1;
    }
  }

 private:
  NodeId in(size_t i) const { return node_.in[i]; }
  const Node& operand(size_t i) const { return out_[in(i)]; }
  bool is_constant(size_t i, double value) const {
    const Node& n = operand(i);
    return n.op == Op::kConst && std::all_of(n.attr.data->begin(), n.attr.data->end(),
                                             [&](double x) { return x == value; });
  }
  bool fits(size_t i) const {
    return operand(i).type.shape == node_.type.shape && operand(i).type.kind == node_.type.kind;
  }
  NodeId chosen(size_t i) const { return fits(i) ? in(i) : -1; }
  NodeId reshape(NodeId id) {
    return out_[id].type.shape == node_.type.shape ? id : make(Op::kReshape, {id}, node_.attr);
  }
  NodeId make(Op op, std::vector<NodeId> in, Attr attr = {}) {
    return out_.add(op, std::move(in), std::move(attr), node_.where);
  }

  /// Only where the factor varies: a parameters-only transpose is cheaper as a table.
  NodeId absorb_transpose() {
    Node n = node_;
    bool changed = false;
    if (operand(1).op == Op::kTranspose && !operand(1).axes.empty()) {
      n.in[1] = operand(1).in[0];
      n.attr.j = n.attr.j == 0 ? 1 : 0;
      changed = true;
    }
    if (operand(0).op == Op::kTranspose) {
      n.in[0] = operand(0).in[0];
      n.attr.i = n.attr.i == 0 ? 1 : 0;
      changed = true;
    }
    return changed ? make(Op::kMatMul, n.in, n.attr) : -1;
  }

  NodeId simplify_slice() {
    if (fits(0)) return in(0);
    const Node& from = operand(0);
    if (from.op == Op::kSlice && from.attr.axis == node_.attr.axis) {
      return make(Op::kSlice, {from.in[0]},
                  {.i = node_.attr.i + from.attr.i, .j = node_.attr.j, .axis = node_.attr.axis});
    }
    if (from.op == Op::kConcat && from.attr.axis == node_.attr.axis) {
      int64_t at = 0;
      for (NodeId part : from.in) {
        const int64_t size = out_[part].type.shape[static_cast<int>(node_.attr.axis)];
        if (node_.attr.i >= at && node_.attr.i + node_.attr.j <= at + size) {
          if (node_.attr.j == size) return part;
          return make(Op::kSlice, {part},
                      {.i = node_.attr.i - at, .j = node_.attr.j, .axis = node_.attr.axis});
        }
        at += size;
      }
    }
    return -1;
  }

  /// f(a, b)[i] = f(a[i], b[i]), so that only the element in use is computed. Not for tables, which
  /// are computed once and looked up.
  NodeId push_index() {
    const Node from = operand(0);
    if (info(from.op).cls != OpClass::kElementwise || from.axes.empty()) return -1;
    std::vector<NodeId> picked;
    for (NodeId id : from.in) {
      const Shape& s = out_[id].type.shape;
      if (s.rank() == from.type.shape.rank() && s[0] != 1) {
        picked.push_back(make(node_.op, {id, in(1)}));
      } else if (s.rank() == from.type.shape.rank()) {  // broadcast along the indexed dimension
        picked.push_back(
            make(Op::kReshape, {id}, {.shape = s.rank() == 1 ? Shape{} : Shape{s[1]}}));
      } else {
        picked.push_back(id);
      }
    }
    Attr attr = from.attr;
    if (from.op == Op::kExpand) attr.shape = node_.type.shape;
    const NodeId result = make(from.op, std::move(picked), attr);
    return out_[result].type == node_.type ? result : -1;
  }

  Graph& out_;
  const Node& node_;
};

}  // namespace

Graph simplify(const Graph& graph) {
  return rewrite(graph, [](Graph& out, const Node& node) { return Simplifier(out, node).run(); });
}

}  // namespace scry
