#include <fmt/format.h>

#include <algorithm>

#include "tools/cli/command.h"
#include "tools/cli/graph_dumps.h"
#include "tools/cli/graph_report.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/text.h"

namespace scry::cli {
namespace {

struct GraphOptions {
  std::string stage, format = "text", differentiator = "auto", ir, output;
  bool passes = false, gradients = false;
};
constexpr const char* kDefaultIr = "true";  // what CLI11 stores for --ir without a value

void check_stage(const StageGraphs& stages, const std::string& name) {
  std::vector<std::string> names;
  for (const StageGraph& stage : stages.stages) {
    names.push_back(stage.name);
    for (const GradientRequest& request : stage.gradients) names.push_back(request.name);
  }
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw UsageError(
      fmt::format("--stage: there is no '{}'; this model has {}", name, fmt::join(names, ", ")));
}

std::string show_graphs(const GraphOptions& options, const ModelGraphs& model,
                        const std::vector<Setting>& settings) {
  GraphReport report = make_report(model, make_stages(model, options.gradients, options.gradients));
  report.settings = settings;
  std::erase_if(report.stages,
                [&](const StageReport& stage) { return !is_of_stage(stage.name, options.stage); });
  if (options.format == "dot") return to_dot(report);
  if (options.format == "json") return to_json(report);
  return to_text(report, options.output.empty() ? Style::for_stdout() : Style(false));
}

int run_graph(const GraphOptions& options, const Bundle& bundle) {
  const bool dumps = options.passes || !options.ir.empty();
  if (dumps && options.format != "text") {
    throw UsageError(
        fmt::format("--passes and --ir are text: leave out --format {}", options.format));
  }
  const ModelGraphs model = trace(*bundle.model, bundle.proposal.get());
  if (!options.stage.empty())
    check_stage(make_stages(model, options.gradients || !options.ir.empty(), false), options.stage);
  std::string text;
  if (options.passes) text += dump_passes(model, options.stage, options.gradients);
  if (!options.ir.empty()) {
    const Differentiator differentiator =
        options.differentiator == "enzyme"    ? Differentiator::kEnzyme
        : options.differentiator == "adjoint" ? Differentiator::kAdjoint
                                              : Differentiator::kAuto;
    if (!text.empty()) text += "\n";
    text +=
        dump_ir(bundle, options.stage, options.ir == kDefaultIr ? "" : options.ir, differentiator);
  }
  write_result(options.output, dumps ? text : show_graphs(options, model, bundle.settings));
  return 0;
}

}  // namespace

Action declare_graph(CLI::App& app) {
  auto options = std::make_shared<GraphOptions>();
  app.add_option("--stage", options->stage, "This stage alone, such as extend")->type_name("NAME");
  add_choice(app, "--format", options->format, {"text", "dot", "json"},
             "Of the graphs; dot is for Graphviz");
  app.add_flag("--gradients", options->gradients, "The built-in adjoint's graphs too");
  app.add_flag("--passes", options->passes,
               "Instead, the graphs after each pass that changes them");
  app.add_flag("--ir", options->ir,
               "Instead, LLVM's code before and after differentiation; also --ir=emitted, "
               "--ir=differentiated, --ir=optimized, --ir=all")
      ->check([](const std::string& value) {
        for (const char* known : {kDefaultIr, "emitted", "differentiated", "optimized", "all"}) {
          if (value == known) return std::string();
        }
        return fmt::format("'{}' is none of emitted, differentiated, optimized, all", value);
      });
  add_choice(app, "--differentiator", options->differentiator, {"auto", "enzyme", "adjoint"},
             "For --ir: who differentiates");
  add_output(app, options->output);
  return [options](const Bundle& bundle) { return run_graph(*options, bundle); };
}

}  // namespace scry::cli
