#include "compiler/adjoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/op_table.h"

namespace scry {

NodeId AdjointBuilder::zeros(Shape shape) {
  return graph_.add_constant(shape, std::vector<double>(static_cast<size_t>(shape.size()), 0.0),
                             node().where);
}

NodeId AdjointBuilder::reshape(NodeId id, Shape shape) {
  return graph_[id].type.shape == shape ? id : make(Op::kReshape, {id}, {.shape = shape});
}

/// Of a table, which is large, as 1ᵀ A: that reads A along its rows.
NodeId AdjointBuilder::sum_rows(NodeId id) {
  const int num_rows = graph_[id].type.shape[0];
  if (!graph_[id].axes.empty() || num_rows == kLength)
    return make(Op::kSum, {make(Op::kTranspose, {id})});
  std::vector<double> ones(static_cast<size_t>(num_rows), 1.0);
  return make(Op::kMatMul, {graph_.add_constant({1, num_rows}, std::move(ones), node().where), id});
}

NodeId AdjointBuilder::reduce_to(NodeId gradient, Shape shape, Axes axes) {
  const Shape from = graph_[gradient].type.shape;
  if (from != shape) {
    const bool rows_too = from.rank() == 2 && shape.rows() == 1 && from[0] != 1;
    if (shape.last() == 1 && from.last() != 1) gradient = make(Op::kSum, {gradient}, {.i = 1});
    if (rows_too) gradient = sum_rows(gradient);
    gradient = reshape(gradient, shape);
  }
  if (graph_[gradient].axes != axes) gradient = make(Op::kSumAxes, {gradient}, {.axes = axes});
  return gradient;
}

void AdjointBuilder::add(size_t i, NodeId gradient) {
  if (!needs(i)) return;
  const Node operand = graph_[in(i)];
  seed(in(i), reduce_to(gradient, operand.type.shape, operand.axes));
}

void AdjointBuilder::add_slice(size_t i, NodeId gradient, const Attr& slice) {
  if (!needs(i)) return;
  const Axes axes = graph_[in(i)].axes;
  if (graph_[gradient].axes != axes) gradient = make(Op::kSumAxes, {gradient}, {.axes = axes});
  const Shape shape = graph_[in(i)].type.shape;
  if (shape.is_static()) {
    pending_[static_cast<size_t>(in(i))].parts.push_back({slice, gradient});
  } else {
    seed(in(i), spread_slice(gradient, shape, slice));
  }
}

/// Zeros beside a part of length T cannot be a constant: dY E, where E's rows are the unit vectors
/// of the slice's columns (or Eᵀ dY, for rows).
NodeId AdjointBuilder::spread_slice(NodeId gradient, const Shape& shape, const Attr& slice) {
  const int count = static_cast<int>(slice.j), extent = shape[static_cast<int>(slice.axis)];
  std::vector<double> units(static_cast<size_t>(count * extent), 0.0);
  for (int k = 0; k < count; ++k) {
    units[static_cast<size_t>(k * extent + static_cast<int>(slice.i) + k)] = 1;
  }
  const NodeId unit = graph_.add_constant({count, extent}, std::move(units), node().where);
  return slice.axis == 0 ? make(Op::kMatMul, {unit, gradient}, {.i = 1})
                         : make(Op::kMatMul, {gradient, unit});
}

void AdjointBuilder::seed(NodeId id, NodeId gradient) {
  pending_[static_cast<size_t>(id)].whole.push_back(gradient);
}

/// The slices' gradients side by side, with zeros between; overlapping ones are added.
NodeId AdjointBuilder::join_parts(NodeId id, std::vector<SlicePart> parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const SlicePart& a, const SlicePart& b) {
    return std::pair(a.slice.axis, a.slice.i) < std::pair(b.slice.axis, b.slice.i);
  });
  const Shape shape = graph_[id].type.shape;
  const int64_t axis = parts.front().slice.axis;
  const int64_t extent = shape[static_cast<int>(axis)];
  const auto gap = [&](int64_t size) {
    const int n = static_cast<int>(size);
    return zeros(shape.rank() == 1 ? Shape{n}
                 : axis == 0       ? Shape{n, shape[1]}
                                   : Shape{shape[0], n});
  };
  std::vector<NodeId> pieces;
  std::vector<SlicePart> rest;
  int64_t at = 0;
  for (const SlicePart& part : parts) {
    if (part.slice.axis != axis || part.slice.i < at) {
      rest.push_back(part);
      continue;
    }
    if (part.slice.i > at) pieces.push_back(gap(part.slice.i - at));
    pieces.push_back(part.gradient);
    at = part.slice.i + part.slice.j;
  }
  if (at < extent) pieces.push_back(gap(extent - at));
  const NodeId joined = pieces.size() == 1 ? pieces[0] : make(Op::kConcat, pieces, {.axis = axis});
  return rest.empty() ? joined : make(Op::kAdd, {joined, join_parts(id, std::move(rest))});
}

std::optional<NodeId> AdjointBuilder::take(NodeId id) {
  current_ = id;
  Pending pending = std::move(pending_[static_cast<size_t>(id)]);
  if (!pending.parts.empty()) pending.whole.push_back(join_parts(id, std::move(pending.parts)));
  if (pending.whole.empty()) return std::nullopt;
  NodeId total = pending.whole[0];
  for (size_t i = 1; i < pending.whole.size(); ++i)
    total = make(Op::kAdd, {total, pending.whole[i]});
  return total;
}

void AdjointBuilder::differentiate(NodeId id, NodeId gradient) {
  current_ = id;
  gradient_ = gradient;
  if (const auto rule = row(node().op).adjoint; rule != nullptr) rule(*this);
}

namespace {

bool contains(std::span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_wrt(const Node& node, std::span<const std::string> wrt) {
  return (node.op == Op::kInput || node.op == Op::kParam) && !node.type.is_int() &&
         contains(wrt, node.attr.name);
}

}  // namespace

std::vector<bool> find_active(const Graph& graph, std::span<const std::string> seeds,
                              std::span<const std::string> wrt) {
  std::vector<bool> active(graph.nodes.size(), false), reached(graph.nodes.size(), false);
  const auto at = [](NodeId id) { return static_cast<size_t>(id); };
  for (size_t id = 0; id < active.size(); ++id) {
    const Node& node = graph.nodes[id];
    active[id] = is_wrt(node, wrt) || (row(node.op).adjoint != nullptr && !node.type.is_int() &&
                                       std::any_of(node.in.begin(), node.in.end(),
                                                   [&](NodeId in) { return active[at(in)]; }));
  }
  for (const GraphOutput& output : graph.outputs) {
    if (contains(seeds, output.name)) reached[at(output.node)] = true;
  }
  for (size_t id = active.size(); id-- > 0;) {
    active[id] = active[id] && reached[id];
    for (NodeId in : graph.nodes[id].in) reached[at(in)] = reached[at(in)] || active[id];
  }
  return active;
}

Graph adjoint(const Graph& graph, std::span<const std::string> seeds,
              std::span<const std::string> wrt, std::span<const std::string> keeps,
              std::span<const std::string> given) {
  Graph result = graph;
  std::erase_if(result.outputs,
                [&](const GraphOutput& output) { return !contains(keeps, output.name); });
  const size_t num_forward = graph.nodes.size();
  const std::vector<bool> active = find_active(graph, seeds, wrt);
  AdjointBuilder builder(result, num_forward);
  builder.set_active(active);
  for (const GraphOutput& output : graph.outputs) {
    const Node node = graph[output.node];
    if (!contains(seeds, output.name) || !active[static_cast<size_t>(output.node)]) continue;
    NodeId seed = result.add_leaf(Op::kInput, node.type, output.axes,
                                  {.name = "d." + output.name, .axes = output.axes}, node.where);
    if (output.axes != node.axes)
      seed = result.add(Op::kSumAxes, {seed}, {.axes = node.axes}, node.where);
    builder.seed(output.node, seed);
  }
  std::map<std::string, NodeId> totals;
  for (NodeId id = static_cast<NodeId>(num_forward) - 1; id >= 0; --id) {
    if (!active[static_cast<size_t>(id)]) continue;
    const std::optional<NodeId> gradient = builder.take(id);
    if (!gradient) continue;
    if (is_wrt(graph[id], wrt)) {
      NodeId& total = totals.try_emplace(graph[id].attr.name, *gradient).first->second;
      if (total != *gradient) total = result.add(Op::kAdd, {total, *gradient}, {}, graph[id].where);
    } else {
      builder.differentiate(id, *gradient);
    }
  }
  for (const std::string& name : wrt) {
    if (const auto found = totals.find(name); found != totals.end()) {
      result.outputs.push_back({"d." + name, found->second, result[found->second].axes, true});
    }
  }
  for (const GraphOutput& output : graph.outputs) {
    if (!contains(given, output.name)) continue;
    Node& node = result.nodes[static_cast<size_t>(output.node)];
    node = {Op::kInput, {}, node.type, node.axes, {.name = output.name, .axes = node.axes},
            node.where};
  }
  verify(result);
  return result;
}

}  // namespace scry
