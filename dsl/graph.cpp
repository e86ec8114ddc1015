#include "dsl/graph.h"

#include <fmt/format.h>

namespace scry {
bool is_position(const Node& node) {
  const bool is_first = node.type.is_int() && node.type.lo == 0 && node.type.hi == 1;
  return is_first || (node.op == Op::kInput && node.attr.name == "t");
}

Axes infer_axes(Op op, std::span<const Axes> in, const Attr& attr) {
  Axes axes;
  for (Axes a : in) axes = axes | a;
  switch (info(op).axes) {
    case AxesRule::kWithTag:
      return axes | Axes::tag();
    case AxesRule::kWithoutTag:
      return axes.without_tag();
    case AxesRule::kNamed:
      return attr.axes;
    case AxesRule::kOperands:
      break;
  }
  return axes;
}

NodeId Graph::add(Op op, std::vector<NodeId> in, Attr attr, Where where) {
  std::vector<Type> types;
  std::vector<Axes> axes;
  for (NodeId id : in) {
    types.push_back((*this)[id].type);
    axes.push_back((*this)[id].axes);
  }
  const Type type = infer_type(op, types, attr, where);
  const Axes over = infer_axes(op, axes, attr);
  nodes.push_back({op, std::move(in), type, over, std::move(attr), where});
  return size() - 1;
}

NodeId Graph::add_leaf(Op op, Type type, Axes axes, Attr attr, Where where) {
  nodes.push_back({op, {}, type, axes, std::move(attr), where});
  return size() - 1;
}

NodeId Graph::add_constant(Shape shape, std::vector<double> values, Where where) {
  return add_leaf(Op::kConst, Type::real(shape), Axes::none(),
                  {.data = std::make_shared<std::vector<double>>(std::move(values))}, where);
}

NodeId Graph::add_integer(int64_t value, Where where) {
  return add_leaf(Op::kConst, Type::integer(value, value + 1), Axes::none(),
                  {.data = std::make_shared<std::vector<double>>(1, static_cast<double>(value))},
                  where);
}

NodeId Graph::find_output(std::string_view name) const {
  for (const GraphOutput& output : outputs) {
    if (output.name == name) return output.node;
  }
  return -1;
}

void verify(const Graph& graph) {
  std::vector<Type> types;  // of a node's operands
  std::vector<Axes> axes;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    types.clear();
    axes.clear();
    for (NodeId in : node.in) {
      if (in < 0 || in >= id)
        throw Error(fmt::format("graph: node %{} uses %{} before it is made", id, in));
      types.push_back(graph[in].type);
      axes.push_back(graph[in].axes);
    }
    if (info(node.op).cls == OpClass::kLeaf) continue;
    if (infer_type(node.op, types, node.attr, node.where) != node.type ||
        infer_axes(node.op, axes, node.attr) != node.axes) {
      throw Error(fmt::format("graph: wrong type or axes: {}", to_string(graph, id)));
    }
  }
  for (const GraphOutput& output : graph.outputs) {
    if (output.node < 0 || output.node >= graph.size()) {
      throw Error(fmt::format("graph: the output '{}' has no node", output.name));
    }
    if (!output.axes.covers(graph[output.node].axes)) {
      throw Error(fmt::format("graph: the output '{}' is over {}, but its value over {}",
                              output.name, to_string(output.axes),
                              to_string(graph[output.node].axes)));
    }
  }
}

std::string to_string(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  std::string text = fmt::format("%{} = {}", id, info(node.op).name);
  for (size_t i = 0; i < node.in.size(); ++i)
    text += fmt::format("{}%{}", i == 0 ? " " : ", ", node.in[i]);
  if (const auto show = info(node.op).attributes; show != nullptr) text += show(node.attr);
  return text + fmt::format(" : {} @ {}", to_string(node.type), to_string(node.axes));
}

std::string to_string(const Graph& graph) {
  std::string text;
  for (NodeId id = 0; id < graph.size(); ++id) text += to_string(graph, id) + "\n";
  for (const GraphOutput& output : graph.outputs) {
    text += fmt::format("{} {} %{} @ {}\n", output.name, output.accumulate ? "+=" : "=",
                        output.node, to_string(output.axes));
  }
  return text;
}

}  // namespace scry
