#include "compiler/stages.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/adjoint.h"
#include "compiler/pass_dead.h"
#include "compiler/pass_tables.h"
#include "compiler/rewrite.h"

namespace scry {
namespace {

/// The step for one given tag a row instead of all tags: y varies with the prefix.
Graph for_given_tag(const Graph& step) {
  Graph graph = rewrite(step, [](Graph& out, const Node& node) -> NodeId {
    if (node.op != Op::kInput || node.attr.name != "y") return -1;
    Attr attr = node.attr;
    attr.axes = Axes::prefix();
    return out.add_leaf(Op::kInput, node.type, Axes::prefix(), attr, node.where);
  });
  for (GraphOutput& output : graph.outputs) output.axes = Axes::prefix();
  return graph;
}

Graph only_outputs(Graph graph, const std::vector<std::string>& names) {
  std::erase_if(graph.outputs, [&](const GraphOutput& output) {
    return std::find(names.begin(), names.end(), output.name) == names.end();
  });
  return remove_dead(graph);
}

std::vector<std::string> real_outputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphOutput& output : graph.outputs) {
    if (!graph[output.node].type.is_int()) names.push_back(output.name);
  }
  return names;
}

class StageMaker {
 public:
  StageMaker(const ModelGraphs& model, bool gradients, bool with_adjoint,
             const PassObserver& observe)
      : model_(model), gradients_(gradients), with_adjoint_(with_adjoint), observe_(observe) {}

  StageGraphs run() {
    for (size_t k = 0; k < model_.scans.size(); ++k)
      add(fmt::format("scan.{}", k), model_.scans[k].graph);
    if (!model_.features.empty()) add("encode", model_.encode);
    add("start", model_.start);
    if (model_.has_proposal) {
      add("end", model_.end);
      add("back", model_.back);
    }
    add("score", only_outputs(model_.step, {"score"}), false);
    add("advance", for_given_tag(model_.step));
    if (model_.has_proposal) add("extend", model_.extend);

    const size_t num_tables = tables_.outputs.size();  // those that stages, not gradients, look up
    group_tables();
    for (StageGraph& stage : result_.stages) request_gradients(stage);
    StageGraph prepare{"prepare", tables_, {}};
    if (gradients_) {
      GradientRequest request{"prepare.gradient", {}, {}, {}};
      for (size_t i = 0; i < num_tables; ++i) request.seeds.push_back(tables_.outputs[i].name);
      for (const TracedParam& param : model_.params) request.wrt.push_back(param.name);
      if (with_adjoint_)
        request.graph = optimize(adjoint(tables_, request.seeds, request.wrt), observe_);
      prepare.gradients.push_back(std::move(request));
    }
    result_.stages.insert(result_.stages.begin(), std::move(prepare));
    return std::move(result_);
  }

 private:
  void add(const std::string& name, const Graph& graph, bool differentiable = true) {
    StageGraph stage{name, remove_dead(hoist_tables(optimize(graph, observe_), tables_)), {}};
    if (gradients_ && differentiable) stage.gradients.push_back({name + ".gradient", {}, {}, {}});
    result_.stages.push_back(std::move(stage));
  }

  void group_tables() {
    std::vector<bool> of_proposal(tables_.nodes.size(), false);
    for (size_t id = 0; id < tables_.nodes.size(); ++id) {
      const Node& node = tables_.nodes[id];
      of_proposal[id] =
          node.op == Op::kParam
              ? model_.params[static_cast<size_t>(node.attr.i)].group == ParamGroup::kProposal
              : std::any_of(node.in.begin(), node.in.end(),
                            [&](NodeId in) { return of_proposal[static_cast<size_t>(in)]; });
    }
    for (const GraphOutput& output : tables_.outputs) {
      result_.table_groups.push_back(of_proposal[static_cast<size_t>(output.node)]
                                         ? ParamGroup::kProposal
                                         : ParamGroup::kModel);
    }
  }

  bool is_proposals(const Node& node) const {
    if (node.op == Op::kParam)
      return model_.params[static_cast<size_t>(node.attr.i)].group == ParamGroup::kProposal;
    for (size_t i = 0; i < tables_.outputs.size() && i < result_.table_groups.size(); ++i) {
      if (tables_.outputs[i].name == node.attr.name)
        return result_.table_groups[i] == ParamGroup::kProposal;
    }
    return node.attr.name.starts_with("later.");
  }

  void request_gradients(StageGraph& stage) {
    if (stage.gradients.empty()) return;
    if (stage.name == "extend") stage.gradients.push_back({"extend.proposal", {"compat"}, {}, {}});
    for (GradientRequest& request : stage.gradients) {
      const bool for_proposal = request.name == "extend.proposal";
      if (!for_proposal) request.seeds = real_outputs(stage.graph);
      for (const Node& node : stage.graph.nodes) {
        if ((node.op != Op::kInput && node.op != Op::kParam) || node.type.is_int()) continue;
        if (for_proposal && !is_proposals(node)) continue;
        if (std::find(request.wrt.begin(), request.wrt.end(), node.attr.name) ==
            request.wrt.end()) {
          request.wrt.push_back(node.attr.name);
        }
      }
      if (with_adjoint_) {
        const Graph graph = optimize(adjoint(stage.graph, request.seeds, request.wrt), observe_);
        request.graph = remove_dead(hoist_tables(graph, tables_));
      }
    }
  }

  const ModelGraphs& model_;
  bool gradients_, with_adjoint_;
  const PassObserver& observe_;
  Graph tables_;
  StageGraphs result_;
};

}  // namespace

const StageGraph& StageGraphs::find(const std::string& name) const {
  for (const StageGraph& stage : stages) {
    if (stage.name == name) return stage;
  }
  throw Error(fmt::format("there is no stage '{}'", name));
}

StageGraphs make_stages(const ModelGraphs& model, bool gradients, bool with_adjoint,
                        const PassObserver& observe) {
  return StageMaker(model, gradients, with_adjoint, observe).run();
}

}  // namespace scry
