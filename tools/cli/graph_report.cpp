#include "tools/cli/graph_report.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace scry::cli {
namespace {

using Names = std::set<std::string>;

const char* purpose_of(const std::string& stage) {
  static const std::map<std::string, const char*> purposes{
      {"prepare", "the model's parameters → tables"},
      {"prepare.proposal", "the proposal's parameters → tables"},
      {"encode", "x and the recurrences → the encoding at a position"},
      {"start", "→ s₀"},
      {"end", "→ s̄_T"},
      {"back", "s̄, x → the s̄ before (eq:sbar)"},
      {"score", "s, x → the score of every tag"},
      {"place", "x → what the step reads of it, at all positions"},
      {"back.in", "x → what back reads of it, at all positions"},
      {"root", "s₀, s̄_0 → compat (C_0)"},
      {"ahead", "s̄, x → what extend reads of them, at all positions"},
      {"score_tag", "s, x, y → score, for one given tag"},
      {"advance", "s, x, y → next s, for one given tag"},
      {"extend", "s, s̄, x → score, next s and compat, for every tag"},
      {"compat", "next s of every tag, s̄ → compat, for its gradient alone"},
      {"compat.gradient", "the gradient of compat for φ and s̄"},
  };
  if (const auto found = purposes.find(stage); found != purposes.end()) return found->second;
  return stage.ends_with(".gradient") ? "the gradient of all outputs for what moves"
         : stage.ends_with(".in")     ? "x → what a recurrence reads of it, at all positions"
                                      : "a recurrence along x";
}

/// The parameters that each node depends on, if it depends on parameters alone; tables are looked
/// through.
std::vector<Names> find_parameters(const Graph& graph,
                                   const std::map<std::string, Names>& of_table) {
  std::vector<Names> names(graph.nodes.size());
  for (size_t id = 0; id < names.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (!node.axes.empty()) continue;
    if (node.op == Op::kParam) names[id].insert(node.attr.name);
    if (const auto table = of_table.find(node.attr.name);
        node.op == Op::kInput && table != of_table.end()) {
      names[id] = table->second;
    }
    for (NodeId in : node.in) {
      const Names& more = names[static_cast<size_t>(in)];
      names[id].insert(more.begin(), more.end());
    }
  }
  return names;
}

std::string operand_name(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.op == Op::kInput || node.op == Op::kParam) return node.attr.name;
  if (node.op == Op::kConst && node.attr.data->size() == 1)
    return fmt::format("{}", node.attr.data->front());
  return fmt::format("%{}", id);
}

std::string describe(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  const Attr& attr = node.attr;
  const std::string name = info(node.op).name;
  if (info(node.op).cls == OpClass::kLeaf) {
    return node.op == Op::kConst && attr.data->size() > 1 ? name
                                                          : name + " " + operand_name(graph, id);
  }
  std::vector<std::string> operands;
  for (NodeId in : node.in) operands.push_back(operand_name(graph, in));
  if (node.op == Op::kMatMul) {
    if (attr.i != 0) operands[0] += "ᵀ";
    if (attr.j != 0) operands[1] += "ᵀ";
  }
  if (node.op == Op::kSlice) operands.push_back(fmt::format("{}:{}", attr.i, attr.i + attr.j));
  return fmt::format("{}({})", name, fmt::join(operands, ", "));
}

std::string show_type(const Node& node) {
  if (!node.type.is_int()) return to_string(node.type);
  const bool position =
      node.op == Op::kInput && (node.attr.name == "t" || node.attr.name == "last");
  return position ? "[0, T)" : fmt::format("[{}, {})", node.type.lo, node.type.hi);
}

std::string product_sizes(const Graph& graph, const Node& node) {
  std::array<std::string, 2> sizes;
  for (size_t i = 0; i < 2; ++i) sizes[i] = to_string(graph[node.in[i]].type.shape);
  const bool transposed[2] = {node.op == Op::kMatMulSum || node.attr.i != 0,
                              node.op == Op::kMatMul && node.attr.j != 0};
  return fmt::format("{}{} × {}{}", sizes[0], transposed[0] ? "ᵀ" : "", sizes[1],
                     transposed[1] ? "ᵀ" : "");
}

class Reporter {
 public:
  explicit Reporter(const StageGraphs& stages) {
    for (const StageGraph& stage : stages.stages) {
      if (!is_prepare(stage.name)) continue;
      const std::vector<Names> names = find_parameters(stage.graph, {});
      for (const GraphOutput& output : stage.graph.outputs)
        of_table_[output.name] = names[static_cast<size_t>(output.node)];
    }
  }

  StageReport report(const std::string& name, const Graph& graph) const {
    StageReport stage{name, purpose_of(name), graph, {}, sum_flops(graph)};
    const std::vector<Names> parameters = find_parameters(graph, of_table_);
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Node& node = graph[id];
      NodeReport row{id,
                     operand_name(graph, id),
                     describe(graph, id),
                     show_type(node),
                     node.axes,
                     work_axes(graph, id),
                     flops_of(graph, id),
                     info(node.op).cls == OpClass::kLeaf,
                     is_product(node.op),
                     {},
                     {},
                     {}};
      Names names;
      if (row.is_product) {
        row.sizes = product_sizes(graph, node);
        for (NodeId in : node.in)
          names.insert(parameters[static_cast<size_t>(in)].begin(),
                       parameters[static_cast<size_t>(in)].end());
      } else if (node.op == Op::kInput) {
        names = parameters[static_cast<size_t>(id)];
      }
      row.parameters.assign(names.begin(), names.end());
      for (const GraphOutput& output : graph.outputs) {
        if (output.node == id) row.outputs.push_back(output.name);
      }
      stage.nodes.push_back(std::move(row));
    }
    return stage;
  }

 private:
  std::map<std::string, Names> of_table_;
};

}  // namespace

GraphReport make_report(const ModelGraphs& model, const StageGraphs& stages) {
  GraphReport report;
  report.num_inputs = model.task.x.size();
  report.num_tags = model.task.y.size();
  for (const TracedParam& param : model.params) report.num_parameters += param.info->shape.size();
  const Reporter reporter(stages);
  for (const StageGraph& stage : stages.stages) {
    report.stages.push_back(reporter.report(stage.name, stage.graph));
    for (const GradientRequest& request : stage.gradients) {
      if (request.graph.size() > 0)
        report.stages.push_back(reporter.report(request.name, request.graph));
    }
  }
  return report;
}

}  // namespace scry::cli
