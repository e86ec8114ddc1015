#include "compiler/pass_positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/pass_share.h"
#include "compiler/rewrite.h"

namespace scry {
namespace {

bool is_free(Op op) {
  switch (op) {
    case Op::kRow:
    case Op::kElement:
    case Op::kReshape:
    case Op::kSlice:
    case Op::kExpand:
    case Op::kToReal:
    case Op::kStopGradient:
      return true;
    default:
      return info(op).cls == OpClass::kLeaf;
  }
}

bool is_placed(Axes axes) { return axes == Axes::sequence() || axes == Axes::position(); }

class Hoister {
 public:
  Hoister(const Graph& graph, std::string prefix,
          const std::function<bool(const Node& leaf)>& may_move, Graph& place)
      : graph_(graph), prefix_(std::move(prefix)), place_(place), moved_(graph.nodes.size(), -1) {
    for (const Node& node : std::exchange(place_.nodes, {})) shared_.add(place_, node);
    find_movable(may_move);
  }

  Graph run() {
    std::vector<bool> used(graph_.nodes.size(), false);  // by what stays
    for (const GraphOutput& output : graph_.outputs) used[at(output.node)] = true;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (hoists(id)) continue;
      for (NodeId in : graph_[id].in) used[at(in)] = true;
    }
    NodeId current = -1;
    return rewrite(graph_, [&](Graph& out, const Node& node) -> NodeId {
      ++current;
      if (!hoists(current) || !used[at(current)] || node.type.is_int()) return -1;
      return out.add_leaf(Op::kInput, node.type, node.axes,
                          {.name = name_of(move(current), node.axes), .axes = node.axes},
                          node.where);
    });
  }

 private:
  static size_t at(NodeId id) { return static_cast<size_t>(id); }
  bool hoists(NodeId id) const {
    return movable_[at(id)] && costs_[at(id)] && is_placed(graph_[id].axes);
  }

  void find_movable(const std::function<bool(const Node& leaf)>& may_move) {
    movable_.assign(graph_.nodes.size(), false);
    costs_.assign(graph_.nodes.size(), false);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      if (info(node.op).cls == OpClass::kLeaf) {
        movable_[at(id)] = (node.axes.empty() || is_placed(node.axes)) &&
                           (node.op == Op::kConst || may_move(node));
        continue;
      }
      movable_[at(id)] =
          (node.axes.empty() || is_placed(node.axes)) &&
          std::all_of(node.in.begin(), node.in.end(), [&](NodeId in) { return movable_[at(in)]; });
      costs_[at(id)] =
          (!is_free(node.op) && !node.type.is_int()) ||
          std::any_of(node.in.begin(), node.in.end(), [&](NodeId in) { return costs_[at(in)]; });
    }
  }

  NodeId move(NodeId id) {
    NodeId& moved = moved_[at(id)];
    if (moved >= 0) return moved;
    Node node = graph_[id];
    for (NodeId& in : node.in) in = move(in);
    return moved = shared_.add(place_, node);
  }

  std::string name_of(NodeId placed, Axes axes) {
    for (const GraphOutput& output : place_.outputs) {
      if (output.node == placed) return output.name;
    }
    place_.outputs.push_back(
        {fmt::format("{}.{}", prefix_, place_.outputs.size()), placed, axes, false});
    return place_.outputs.back().name;
  }

  const Graph& graph_;
  std::string prefix_;
  Graph& place_;
  SharedNodes shared_;
  std::vector<NodeId> moved_;          // into place_
  std::vector<bool> movable_, costs_;  // of each node, with all that it is made of
};

}  // namespace

Graph hoist_positions(const Graph& graph, const std::string& prefix,
                      const std::function<bool(const Node& leaf)>& may_move, Graph& place) {
  return Hoister(graph, prefix, may_move, place).run();
}

}  // namespace scry
