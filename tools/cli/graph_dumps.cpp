#include "tools/cli/graph_dumps.h"

#include <fmt/format.h>

#include <sstream>

#include "compiler/adjoint.h"
#include "compiler/pass_dead.h"
#include "compiler/pass_tables.h"
#include "compiler/stages.h"
#include "tools/cli/text.h"

namespace scry::cli {
namespace {

class PassDump {
 public:
  PassDump(std::string stage, bool gradients) : stage_(std::move(stage)), gradients_(gradients) {
    // These are made of the same traced graph.
    if (stage_ == "score" || stage_ == "score_tag" || stage_ == "advance") stage_ = "step";
  }

  std::string run(const ModelGraphs& model) {
    for (size_t k = 0; k < model.scans.size(); ++k)
      show(fmt::format("scan.{}", k), "traced", model.scans[k].graph);
    if (!model.features.empty()) show("encode", "traced", model.encode);
    show("start", "traced", model.start);
    if (model.has_proposal) {
      show("end", "traced", model.end);
      show("back", "traced", model.back);
      if (model.root.size() > 0) show("root", "traced", model.root);
    }
    show("step", "traced", model.step);
    if (model.has_proposal) show("extend", "traced", model.extend);
    if (model.has_proposal && gradients_) show("compat", "traced", model.compat);
    if (gradients_) {
      for (const StageGraph& stage : make_stages(model, true, false).stages) {
        for (const GradientRequest& request : stage.gradients) {
          show(request.name, "by the adjoint",
               adjoint(stage.graph, request.seeds, request.wrt, request.keeps));
        }
      }
    }
    if (text_.empty())
      text_ = stage_ + " is what hoist_tables and hoist_positions took out of the other stages\n";
    return std::move(text_);
  }

 private:
  void show(const std::string& name, const std::string& origin, const Graph& graph) {
    if (!is_of_stage(name, stage_)) return;
    previous_ = "";
    print(name, origin, graph);
    int number = 0;
    const Graph optimized = optimize(graph, [&](const std::string& pass, const Graph& result) {
      ++number;
      print(name, fmt::format("after pass {}, {}", number, pass), result);
    });
    if (name.starts_with("prepare")) return;
    Graph tables;
    print(name, "after hoist_tables", remove_dead(hoist_tables(optimized, tables)));
  }

  void print(const std::string& name, const std::string& when, const Graph& graph) {
    const std::string shown = to_string(graph);
    if (shown == previous_) return;
    previous_ = shown;
    text_ += fmt::format("{}{}: {}, {}\n{}", text_.empty() ? "" : "\n", name, when,
                         count_of(graph.nodes.size(), "node"), shown);
  }

  std::string stage_;
  bool gradients_;
  std::string text_, previous_;
};

/// The functions of an LLVM module that belong to a stage, among them Enzyme's derivatives of them.
std::string functions_of(const std::string& module, const std::string& stage) {
  std::string text;
  std::istringstream lines(module);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("define ")) {
      const size_t at = line.find('@');
      std::string name = line.substr(at + 1, line.find('(', at) - at - 1);
      std::erase(name, '"');
      if (const size_t derivative = name.find("diffe"); derivative == 0) name.erase(0, 5);
      inside = is_of_stage(name, stage);
    }
    if (inside) text += line + "\n";
    if (line == "}") {
      if (inside) text += "\n";
      inside = false;
    }
  }
  return text;
}

}  // namespace

bool is_of_stage(const std::string& name, const std::string& stage) {
  return stage.empty() || name == stage || name.starts_with(stage + ".");
}

std::string dump_passes(const ModelGraphs& model, const std::string& stage, bool gradients) {
  return PassDump(stage, gradients).run(model);
}

std::string dump_ir(const Bundle& bundle, const std::string& stage, const std::string& when,
                    Differentiator differentiator) {
  std::string text;
  const auto on_ir = [&](const std::string& now, const std::string& ir) {
    if (now == "emitted") text.clear();  // a second start, if Enzyme failed
    const bool wanted = when.empty() ? now != "optimized" : when == "all" || when == now;
    if (!wanted) return;
    text += fmt::format("; ---- {}\n{}\n", now, stage.empty() ? ir : functions_of(ir, stage));
  };
  const Program program =
      compile(bundle, {.differentiator = differentiator, .use_cache = false, .on_ir = on_ir});
  if (program.differentiator == "adjoint" &&
      (when.empty() || when == "all" || when == "differentiated")) {
    text += "; differentiated by the built-in adjoint, on graphs: see --gradients\n";
  }
  return text;
}

}  // namespace scry::cli
