#include "compiler/hold_stopped.h"

#include <fmt/format.h>

#include <algorithm>

namespace scry {
namespace {

constexpr const char* kHeld = "held.";

/// Every graph that the model has.
template <class ModelGraphsLike, class Visit>
void for_each_graph(ModelGraphsLike& model, Visit visit) {
  for (auto& scan : model.scans) visit(scan.graph);
  for (auto* graph : {&model.encode, &model.start, &model.step, &model.end, &model.back,
                      &model.root, &model.extend}) {
    visit(*graph);
  }
}

class Holder {
 public:
  explicit Holder(const ModelGraphs& model) : model_(model) {}

  ModelGraphs run() const {
    ModelGraphs result = model_;
    for (const TracedParam& param : model_.params) {
      TracedParam twin = param;
      twin.name = kHeld + twin.name;
      result.params.push_back(std::move(twin));
    }
    result.state = with_twins(model_.state);
    result.later = with_twins(model_.later);
    for (const auto& [name, size] : model_.features)
      result.features.emplace_back(kHeld + name, size);
    for (ScanGraph& scan : result.scans) {
      const std::vector<int> sizes = scan.sizes;
      scan.sizes.insert(scan.sizes.end(), sizes.begin(), sizes.end());
    }
    for_each_graph(result, [&](Graph& graph) { graph = hold(graph); });
    return result;
  }

 private:
  static StateSpec with_twins(const StateSpec& spec) {
    StateSpec result = spec;
    for (const auto& [name, type] : spec.components()) {
      if (!type.is_int()) result = result.and_state(kHeld + name, type.shape);
    }
    return result;
  }

  /// s.h → s.held.h; scan states are numbered, and their twins come after them. Nothing for what
  /// has no twin.
  std::string twin_name(const std::string& name, size_t num_before) const {
    const size_t dot = name.find('.');
    const std::string prefix = name.substr(0, dot + 1);
    if (prefix == "before." || prefix == "after.")
      return fmt::format("{}{}", prefix, std::stoul(name.substr(dot + 1)) + num_before);
    if (prefix == "scan.") {
      const size_t last = name.rfind('.');
      const size_t scan = std::stoul(name.substr(dot + 1, last - dot - 1));
      return fmt::format("scan.{}.{}", scan,
                         std::stoul(name.substr(last + 1)) + model_.scans[scan].sizes.size());
    }
    const bool is_component =
        prefix == "s." || prefix == "next." || prefix == "later." || prefix == "enc.";
    return is_component ? prefix + kHeld + name.substr(dot + 1) : "";
  }

  Graph hold(const Graph& graph) const {
    const auto num_before = static_cast<size_t>(
        std::count_if(graph.outputs.begin(), graph.outputs.end(),
                      [](const GraphOutput& output) { return output.name.starts_with("after."); }));
    Graph result;
    std::vector<NodeId> moving, held;  // of each node
    for (const Node& node : graph.nodes) {
      NodeId now = -1, twin = -1;
      if (node.op == Op::kStopGradient) {
        now = twin = held[static_cast<size_t>(node.in[0])];
      } else if (node.in.empty()) {
        now = twin = result.add_leaf(node.op, node.type, node.axes, node.attr, node.where);
        Attr attr = node.attr;
        if (node.op == Op::kParam) {
          attr.i += static_cast<int64_t>(model_.params.size());
          attr.name = kHeld + attr.name;
        } else if (node.op == Op::kInput && !node.type.is_int()) {
          attr.name = twin_name(attr.name, num_before);
        } else {
          attr.name.clear();
        }
        if (!attr.name.empty())
          twin = result.add_leaf(node.op, node.type, node.axes, attr, node.where);
      } else {
        now = twin = result.add(node.op, mapped(node.in, moving), node.attr, node.where);
        if (mapped(node.in, moving) != mapped(node.in, held))
          twin = result.add(node.op, mapped(node.in, held), node.attr, node.where);
      }
      moving.push_back(now);
      held.push_back(twin);
    }
    for (const GraphOutput& output : graph.outputs) {
      GraphOutput now = output;
      now.node = moving[static_cast<size_t>(output.node)];
      result.outputs.push_back(now);
    }
    for (const GraphOutput& output : graph.outputs) {
      GraphOutput twin = output;
      twin.node = held[static_cast<size_t>(output.node)];
      twin.name = twin_name(output.name, num_before);
      if (!twin.name.empty() && !graph[output.node].type.is_int()) result.outputs.push_back(twin);
    }
    return result;
  }

  static std::vector<NodeId> mapped(const std::vector<NodeId>& in, const std::vector<NodeId>& to) {
    std::vector<NodeId> result;
    for (NodeId id : in) result.push_back(to[static_cast<size_t>(id)]);
    return result;
  }

  const ModelGraphs& model_;
};

}  // namespace

bool stops_gradients(const ModelGraphs& model) {
  bool found = false;
  for_each_graph(model, [&](const Graph& graph) {
    found = found || std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
              return node.op == Op::kStopGradient && graph[node.in[0]].op != Op::kFinite;
            });
  });
  return found;
}

ModelGraphs hold_stopped(const ModelGraphs& model) { return Holder(model).run(); }

}  // namespace scry
