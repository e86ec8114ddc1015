#include "compiler/pass_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/pass_share.h"
#include "compiler/rewrite.h"

namespace scry {
namespace {

/// A node as a lookup: table[index], where the table holds parameters only.
bool is_lookup(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  return (node.op == Op::kRow || node.op == Op::kElement) && graph[node.in[0]].axes.empty();
}

class Lifter {
 public:
  Lifter(Graph& out, const Node& node, int64_t max_elements)
      : out_(out), node_(node), max_(max_elements) {}

  NodeId run() {
    if (node_.axes.empty() || node_.type.is_int()) return -1;
    switch (info(node_.op).cls) {
      case OpClass::kElementwise:
        return elementwise();
      case OpClass::kProduct:
        return product();
      case OpClass::kReduction:
        return reduction();
      default:
        return -1;
    }
  }

 private:
  bool too_large(int64_t rows, int64_t columns) const { return rows * columns > max_; }

  NodeId elementwise() {
    NodeId index = -1;
    int64_t rows = 0;
    for (NodeId id : node_.in) {
      if (is_lookup(out_, id)) {
        if (index >= 0 && out_[id].in[1] != index) return -1;
        index = out_[id].in[1];
        rows = out_[out_[id].in[0]].type.shape[0];
      } else if (!out_[id].axes.empty() || out_[id].type.is_int()) {
        return -1;
      }
    }
    if (index < 0 || node_.type.shape.rank() > 1 || too_large(rows, node_.type.shape.size()))
      return -1;
    const bool vector = node_.type.shape.rank() == 1;  // lookups are rows; else elements
    std::vector<NodeId> operands;
    for (NodeId id : node_.in) {
      NodeId operand = id;
      if (is_lookup(out_, id)) {
        operand = out_[id].in[0];
        const Shape& table = out_[operand].type.shape;
        if (table[0] != rows) return -1;
        if (vector && table.rank() == 1)
          operand = add(Op::kReshape, {operand}, {.shape = {table[0], 1}});
      }
      operands.push_back(operand);
    }
    Attr attr = node_.attr;
    if (node_.op == Op::kExpand)
      attr.shape = Shape{static_cast<int>(rows), node_.type.shape.last()};
    const NodeId table = add(node_.op, std::move(operands), attr);
    return add(vector ? Op::kRow : Op::kElement, {table, index});
  }

  NodeId product() {
    const NodeId left = node_.in[0], right = node_.in[1];
    if (!is_lookup(out_, left) || out_[left].op != Op::kRow || !out_[right].axes.empty()) return -1;
    const NodeId table = out_[left].in[0];
    if (too_large(out_[table].type.shape[0], node_.type.shape.last())) return -1;
    return add(Op::kRow, {add(Op::kMatMul, {table, right}, node_.attr), out_[left].in[1]});
  }

  NodeId reduction() {
    const NodeId from = node_.in[0];
    if (!is_lookup(out_, from) || out_[from].op != Op::kRow) return -1;
    const NodeId table = add(node_.op, {out_[from].in[0]}, node_.attr);
    return add(node_.attr.i != 0 ? Op::kRow : Op::kElement, {table, out_[from].in[1]});
  }

  NodeId add(Op op, std::vector<NodeId> in, Attr attr = {}) {
    return out_.add(op, std::move(in), std::move(attr), node_.where);
  }

  Graph& out_;
  const Node& node_;
  int64_t max_;
};

/// Which nodes depend on parameters alone. No axes is not enough: a gradient summed over all rows
/// has none. Nor are parameters: a row of theirs at the tag varies with it.
std::vector<bool> find_parameters_only(const Graph& graph) {
  std::vector<bool> result(graph.nodes.size(), false);
  for (size_t id = 0; id < result.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (info(node.op).cls == OpClass::kLeaf) {
      result[id] = node.op != Op::kInput || node.attr.name.starts_with("table.");
    } else {
      result[id] = node.axes.empty() && std::all_of(node.in.begin(), node.in.end(), [&](NodeId in) {
                     return result[static_cast<size_t>(in)];
                   });
    }
  }
  return result;
}

}  // namespace

Graph lift_lookups(const Graph& graph, int64_t max_elements) {
  return rewrite(
      graph, [&](Graph& out, const Node& node) { return Lifter(out, node, max_elements).run(); });
}

Graph hoist_tables(const Graph& graph, Graph& tables) {
  // Nodes already in `tables` are shared by rebuilding their index.
  SharedNodes shared;
  Graph merged;
  for (const Node& node : tables.nodes) shared.add(merged, node);
  merged.outputs = tables.outputs;
  tables = std::move(merged);

  const std::vector<bool> parameters_only = find_parameters_only(graph);
  std::vector<NodeId> in_tables(graph.nodes.size(), -1);
  std::vector<bool> used(graph.nodes.size(), false);  // by a node that is not hoisted itself
  for (const GraphOutput& output : graph.outputs) used[static_cast<size_t>(output.node)] = true;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (parameters_only[static_cast<size_t>(id)]) continue;
    for (NodeId in : graph[id].in) used[static_cast<size_t>(in)] = true;
  }
  const auto move = [&](const auto& self, NodeId id) -> NodeId {
    NodeId& moved = in_tables[static_cast<size_t>(id)];
    if (moved >= 0) return moved;
    Node node = graph[id];
    if (node.op == Op::kInput) {  // a table made by an earlier hoist
      for (const GraphOutput& output : tables.outputs) {
        if (output.name == node.attr.name) return moved = output.node;
      }
    }
    for (NodeId& in : node.in) in = self(self, in);
    if (node.op == Op::kTranspose && tables[node.in[0]].op == Op::kTranspose) {
      return moved = tables[node.in[0]].in[0];
    }
    return moved = shared.add(tables, node);
  };
  NodeId current = -1;
  return rewrite(graph, [&](Graph& out, const Node& node) -> NodeId {
    ++current;
    const auto at = static_cast<size_t>(current);
    // A parameter as it is, or a constant, needs no table.
    if (!parameters_only[at] || !used[at] || node.type.is_int() ||
        info(node.op).cls == OpClass::kLeaf)
      return -1;
    const NodeId table = move(move, current);
    if (tables[table].op == Op::kParam) {  // e.g. a transpose of a transpose
      return out.add_leaf(Op::kParam, node.type, Axes::none(), tables[table].attr, node.where);
    }
    std::string name;
    for (const GraphOutput& output : tables.outputs) {
      if (output.node == table) name = output.name;
    }
    if (name.empty()) {
      name = fmt::format("table.{}", tables.outputs.size());
      tables.outputs.push_back({name, table});
    }
    return out.add_leaf(Op::kInput, node.type, Axes::none(), {.name = name, .axes = Axes::none()},
                        node.where);
  });
}

}  // namespace scry
