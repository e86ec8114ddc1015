#include "compiler/stages.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/adjoint.h"
#include "compiler/pass_dead.h"
#include "compiler/pass_keep.h"
#include "compiler/pass_positions.h"
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

Graph without_output(Graph graph, const std::string& name) {
  std::erase_if(graph.outputs, [&](const GraphOutput& output) { return output.name == name; });
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
      add_recurrence(fmt::format("scan.{}", k), model_.scans[k].graph, "before.", For::kAll);
    if (!model_.features.empty()) add("encode", settle(model_.encode), For::kAll);
    add("start", settle(model_.start), For::kAll);

    // What x alone decides of the step is one stage for all of its uses.
    Graph place, ahead;
    const auto move = [&](Graph graph) {
      return remove_dead(hoist_positions(
          graph, "place", [&](const Node& leaf) { return !is_proposals(leaf); }, place));
    };
    const Graph step = for_given_tag(model_.step);
    const Graph score = move(settle(only_outputs(model_.step, {"score"})));
    const Graph score_tag = move(settle(only_outputs(step, {"score"})));
    const Graph advance = move(settle(without_output(step, "score")));
    // Of the lookahead's, all that is left.
    const auto move_ahead = [&](const Graph& graph) {
      return remove_dead(hoist_positions(
          move(settle(graph)), "ahead", [](const Node&) { return true; }, ahead));
    };
    Graph extend, compat;
    if (model_.has_proposal) {
      extend = move_ahead(model_.extend);
      if (gradients_) compat = move_ahead(model_.compat);
    }
    add_placed("place", place, For::kAll);
    if (model_.has_proposal) {
      add("end", settle(model_.end), For::kProposal);
      add_recurrence("back", model_.back, "later.", For::kProposal);
      if (model_.root.size() > 0) add("root", settle(model_.root), For::kProposal);
      add_placed("ahead", ahead, For::kProposal);
    }
    // Sums over finite states want the gradients of all tags at once.
    add("score", score, has_real_state() ? For::kNone : For::kAll);
    add("score_tag", score_tag, For::kAll);
    for (GradientRequest& request : result_.stages.back().gradients) request.keeps = {"score"};
    add("advance", advance, For::kAll);
    if (model_.has_proposal) {
      add("extend", extend, For::kNone);
      if (gradients_) {
        add("compat", compat, For::kProposal);
        result_.stages.back().runs = false;
      }
    }

    const size_t num_tables = tables_.outputs.size();  // those that stages, not gradients, look up
    for (StageGraph& stage : result_.stages) request_gradients(stage);
    StageGraph of_model = prepare("prepare", ParamGroup::kModel, num_tables);
    StageGraph of_proposal = prepare("prepare.proposal", ParamGroup::kProposal, num_tables);
    if (!of_proposal.graph.outputs.empty())
      result_.stages.insert(result_.stages.begin(), std::move(of_proposal));
    result_.stages.insert(result_.stages.begin(), std::move(of_model));
    return std::move(result_);
  }

 private:
  /// Whose gradients a stage needs: training moves φ with θ held still.
  enum class For : uint8_t { kNone, kAll, kProposal };

  /// Optimised, and without what parameters alone decide.
  Graph settle(const Graph& graph) {
    return remove_dead(hoist_tables(optimize(graph, observe_), tables_));
  }

  void add(const std::string& name, Graph graph, For gradients) {
    StageGraph stage{name, std::move(graph), {}};
    if (gradients_ && gradients != For::kNone)
      stage.gradients.push_back({name + ".gradient", {}, {}});
    for_.push_back(gradients);
    result_.stages.push_back(std::move(stage));
  }
  /// The tables of a group. Training moves one group at a time, or each by an objective of its own,
  /// so that tables and gradients of the other one need not be computed again.
  StageGraph prepare(const std::string& name, ParamGroup group, size_t num_tables) const {
    const auto is_mine = [&](const GraphOutput& table) {
      return is_proposals_table(table.name) == (group == ParamGroup::kProposal);
    };
    Graph graph = tables_;
    std::erase_if(graph.outputs, [&](const GraphOutput& table) { return !is_mine(table); });
    StageGraph stage{name, remove_dead(graph), {}};
    if (!gradients_) return stage;
    GradientRequest request{name + ".gradient", {}, {}};
    for (size_t i = 0; i < num_tables; ++i) {
      if (is_mine(tables_.outputs[i])) request.seeds.push_back(tables_.outputs[i].name);
    }
    for (const TracedParam& param : model_.params) {
      if (param.group == group) request.wrt.push_back(param.name);
    }
    if (with_adjoint_)
      request.graph = optimize(adjoint(stage.graph, request.seeds, request.wrt), observe_);
    stage.gradients.push_back(std::move(request));
    return stage;
  }
  void add_placed(const std::string& name, const Graph& place, For gradients) {
    if (!place.outputs.empty()) add(name, place, gradients);
  }
  /// A recurrence along x in two stages: what it reads of x at all positions, and the rest.
  void add_recurrence(const std::string& name, const Graph& graph, const std::string& state,
                      For gradients) {
    Graph in;
    Graph rest = remove_dead(hoist_positions(
        settle(graph), "in", [&](const Node& leaf) { return !leaf.attr.name.starts_with(state); },
        in));
    add_placed(name + ".in", in, gradients);
    add(name, std::move(rest), gradients);
  }

  bool has_real_state() const {
    const auto& components = model_.state.components();
    return std::any_of(components.begin(), components.end(),
                       [](const auto& component) { return !component.type.is_int(); });
  }
  bool is_proposals_param(const Node& node) const {
    return model_.params[static_cast<size_t>(node.attr.i)].group == ParamGroup::kProposal;
  }
  bool is_proposals_table(const std::string& name) const {
    std::vector<bool> of_proposal(tables_.nodes.size(), false);
    for (size_t id = 0; id < tables_.nodes.size(); ++id) {
      const Node& node = tables_.nodes[id];
      of_proposal[id] = node.op == Op::kParam
                            ? is_proposals_param(node)
                            : std::any_of(node.in.begin(), node.in.end(), [&](NodeId in) {
                                return of_proposal[static_cast<size_t>(in)];
                              });
    }
    const NodeId table = tables_.find_output(name);
    return table >= 0 && of_proposal[static_cast<size_t>(table)];
  }
  /// An input or parameter that moves when φ does.
  bool is_proposals(const Node& node) const {
    if (node.op == Op::kParam) return is_proposals_param(node);
    const std::string& name = node.attr.name;
    return name.starts_with("later.") || name.starts_with("ahead.") || name.starts_with("in.") ||
           (name.starts_with("table.") && is_proposals_table(name));
  }

  StageGraph& find(const std::string& name) {
    return *std::find_if(result_.stages.begin(), result_.stages.end(),
                         [&](const StageGraph& stage) { return stage.name == name; });
  }

  void request_gradients(StageGraph& stage) {
    const For whose = for_[static_cast<size_t>(&stage - result_.stages.data())];
    for (GradientRequest& request : stage.gradients) {
      request.seeds = real_outputs(stage.graph);
      for (const Node& node : stage.graph.nodes) {
        if ((node.op != Op::kInput && node.op != Op::kParam) || node.type.is_int()) continue;
        if (whose == For::kProposal && !is_proposals(node)) continue;
        if (std::find(request.wrt.begin(), request.wrt.end(), node.attr.name) ==
            request.wrt.end()) {
          request.wrt.push_back(node.attr.name);
        }
      }
      // Of `compat` the runtime runs the gradient alone, after `extend`.
      if (!stage.runs) {
        StageGraph& extend = find("extend");
        extend.keeps = request.given =
            keep_products(extend.graph, stage.graph, request.seeds, request.wrt);
      }
      if (with_adjoint_) {
        const Graph graph =
            optimize(adjoint(stage.graph, request.seeds, request.wrt, request.keeps, request.given),
                     observe_);
        request.graph = remove_dead(hoist_tables(graph, tables_));
      }
    }
    // Such as of states that are integers alone.
    std::erase_if(stage.gradients, [&](const GradientRequest& request) {
      const std::vector<bool> active = find_active(stage.graph, request.seeds, request.wrt);
      return std::find(active.begin(), active.end(), true) == active.end();
    });
  }

  const ModelGraphs& model_;
  bool gradients_, with_adjoint_;
  const PassObserver& observe_;
  Graph tables_;
  StageGraphs result_;
  std::vector<For> for_;  // of each stage
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
