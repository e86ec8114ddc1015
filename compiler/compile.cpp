#include "compiler/compile.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "compiler/cache.h"
#include "compiler/enzyme.h"
#include "compiler/hold_stopped.h"
#include "compiler/jit.h"
#include "compiler/stages.h"
#include "source_id.h"

namespace scry {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// A warning that cannot be written is no reason to stop.
void warn(const CompileOptions& options, const std::string& message) {
  if (options.warn) {
    options.warn(message);
  } else {
    std::fputs(fmt::format("scry: {}\n", message).c_str(), stderr);
  }
}

/// Blocks end to end, each at a multiple of 16 elements.
struct Layout {
  std::vector<Block> blocks;
  int64_t size = 0;
  void add(std::string name, const Shape& shape, ParamGroup group, Init init = {}) {
    blocks.push_back({std::move(name), shape, size, group, init});
    size += (shape.size() + 15) / 16 * 16;
  }
};

class Compiler {
 public:
  Compiler(const ModelGraphs& model, const CompileOptions& options, std::string enzyme_path,
           std::string enzyme_id)
      : model_(model),
        options_(options),
        enzyme_path_(std::move(enzyme_path)),
        enzyme_id_(std::move(enzyme_id)) {}

  Program run(CompileReport& report) {
    const auto start = std::chrono::steady_clock::now();
    stages_ = make_stages(model_, options_.gradients, !by_enzyme());
    plan();
    origin_ = origin();
    report.graphs_ms = milliseconds_since(start);
    const std::vector<char> object = get_object(report);
    const auto loading = std::chrono::steady_clock::now();
    auto code = std::make_shared<LoadedCode>(object);
    Program program = assemble(*code);
    program.code = code;
    program.origin = origin_;
    report.load_ms = milliseconds_since(loading);
    return program;
  }

 private:
  bool by_enzyme() const { return !enzyme_path_.empty(); }
  void warn(const std::string& message) const { scry::warn(options_, message); }

  void plan() {
    for (const StageGraph& stage : stages_.stages) {
      if (stage.runs) plans_.push_back(plan_kernel(stage.name, stage.graph, stage.keeps));
      for (const GradientRequest& request : stage.gradients) {
        plans_.push_back(by_enzyme()
                             ? plan_enzyme_gradient(request.name, stage.graph, request.seeds,
                                                    request.wrt, request.keeps, request.given)
                             : plan_kernel(request.name, request.graph, request.keeps));
      }
    }
  }

  Origin origin() const {
    std::vector<std::string> parts;
    for (const KernelPlan& plan : plans_) {
      parts.push_back(plan.name);
      parts.push_back(to_string(plan.graph));
    }
    for (const ScanGraph& scan : model_.scans)  // which no kernel knows
      parts.push_back(scan.direction == Direction::kLeftToRight ? "scan" : "scan back");
    const std::string features = host_features();
    return {cache_key(parts),
            cache_key(std::vector<std::string>{kCompilerId, llvm_version(), enzyme_id_}),
            fmt::format("{} {}", host_cpu(), cache_key({&features, 1}).substr(0, 16))};
  }

  /// Everything that the object code depends on.
  std::string key() const {
    return cache_key(std::vector<std::string>{
        origin_.build, origin_.machine, origin_.model, by_enzyme() ? "enzyme" : "adjoint",
        options_.precision == Precision::kDouble ? "double" : "float",
        std::to_string(model_.task.y.size())});
  }

  std::vector<char> get_object(CompileReport& report) {
    const std::string folder =
        options_.cache_folder.empty() ? default_cache_folder() : options_.cache_folder;
    bool use_cache = options_.use_cache && !folder.empty() && !options_.on_ir;
    if (const std::string refusal = use_cache ? cache_refusal(folder) : ""; !refusal.empty()) {
      warn(refusal);
      use_cache = false;
    }
    const KernelCache cache(folder);
    const std::string key = use_cache ? this->key() : "";
    if (use_cache) {
      report.cache_file = cache.file_of(key);
      std::string problem;
      if (auto object = cache.load(key, problem)) {
        report.from_cache = true;
        return std::move(*object);
      }
      if (!problem.empty()) warn(problem);
    }
    CodegenRequest request{plans_, options_.precision, model_.task.y.size(), enzyme_path_,
                           options_.on_ir};
    std::vector<char> object = generate_object(request, report.codegen);
    if (use_cache) {
      if (const std::string problem = cache.store(key, object); !problem.empty()) warn(problem);
    }
    return object;
  }

  Kernel kernel(const LoadedCode& code, const std::string& name) const {
    for (const KernelPlan& plan : plans_) {
      if (plan.name == name) return {name, plan.slots, code.find(name)};
    }
    return {};
  }
  Stage stage(const LoadedCode& code, const std::string& name) const {
    return {kernel(code, name), kernel(code, name + ".gradient")};
  }

  PlaceStage place_stage(const LoadedCode& code, const std::string& name) const {
    PlaceStage result{stage(code, name), {}};
    for (const Slot& slot : result.forward.slots) {
      if (slot.role == SlotRole::kOutput)
        result.values.push_back({slot.name, slot.shape, slot.axes});
    }
    return result;
  }

  Program assemble(const LoadedCode& code) const {
    Program program;
    program.task = model_.task;
    program.precision = options_.precision;
    program.differentiator = !options_.gradients ? "none" : by_enzyme() ? "enzyme" : "adjoint";
    Layout params, tables;
    for (const TracedParam& param : model_.params) {
      params.add(param.name, param.info->shape, param.group, param.info->init);
      params.blocks.back().is_automatic = param.is_automatic;
    }
    for (const StageGraph& stage : stages_.stages) {
      if (!is_prepare(stage.name)) continue;
      const ParamGroup group = stage.name == "prepare" ? ParamGroup::kModel : ParamGroup::kProposal;
      for (const GraphOutput& table : stage.graph.outputs)
        tables.add(table.name, stage.graph[table.node].type.shape, group);
    }
    program.params = std::move(params.blocks);
    program.num_param_elements = params.size;
    program.tables = std::move(tables.blocks);
    program.num_table_elements = tables.size;
    for (const auto& [name, type] : model_.state.components())
      program.state.push_back({name, type});
    for (const auto& [name, type] : model_.later.components())
      program.later.push_back({name, type});
    program.features = model_.features;
    program.prepare = stage(code, "prepare");
    program.prepare_proposal = stage(code, "prepare.proposal");
    for (size_t k = 0; k < model_.scans.size(); ++k) {
      const std::string name = fmt::format("scan.{}", k);
      program.scans.push_back({stage(code, name), model_.scans[k].direction, model_.scans[k].sizes,
                               place_stage(code, name + ".in")});
    }
    program.encode = stage(code, "encode");
    program.start = stage(code, "start");
    program.place = place_stage(code, "place");
    program.end = stage(code, "end");
    program.back_in = place_stage(code, "back.in");
    program.back = stage(code, "back");
    program.root = stage(code, "root");
    program.ahead = place_stage(code, "ahead");
    program.score = stage(code, "score");
    program.score_tag = stage(code, "score_tag");
    program.advance = stage(code, "advance");
    program.extend = {kernel(code, "extend"), kernel(code, "compat.gradient")};
    for (const Slot& slot : program.extend.forward.slots) {
      if (slot.role != SlotRole::kKept) continue;
      const int64_t size = slot.num_elements({1, 1, 1, 0}, program.num_tags());
      program.kept.push_back({slot.name, Type::real({static_cast<int>(size)})});
    }
    return program;
  }

  const ModelGraphs& model_;
  const CompileOptions& options_;
  std::string enzyme_path_, enzyme_id_;
  StageGraphs stages_;
  std::vector<KernelPlan> plans_;
  Origin origin_;
};

}  // namespace

bool stops_gradients(const Bundle& bundle) {
  return stops_gradients(trace(*bundle.model, bundle.proposal.get()));
}

Program compile(const Model& model, const Proposal* proposal, const CompileOptions& options,
                CompileReport* report) {
  CompileReport unused;
  CompileReport& result = report != nullptr ? *report : unused;
  const auto start = std::chrono::steady_clock::now();
  ModelGraphs graphs = trace(model, proposal);
  if (options.hold_stopped) graphs = hold_stopped(graphs);
  const double trace_ms = milliseconds_since(start);
  const auto run = [&](const EnzymeSearch& enzyme) {
    result = {};
    Program program = Compiler(graphs, options, enzyme.path, enzyme.id).run(result);
    result.graphs_ms += trace_ms;
    return program;
  };
  const EnzymeSearch enzyme =
      options.gradients && options.differentiator != Differentiator::kAdjoint ? find_enzyme()
                                                                              : EnzymeSearch{};
  if (options.differentiator == Differentiator::kEnzyme && options.gradients) {
    if (enzyme.path.empty())
      throw Error("Enzyme was asked for, but there is none: " + enzyme.reason);
    return run(enzyme);
  }
  if (enzyme.path.empty()) return run({});
  try {
    return run(enzyme);
  } catch (const ModelError&) {
    throw;
  } catch (const Error& error) {
    warn(options, fmt::format("{}; using the built-in adjoint", error.what()));
    return run({});
  }
}

}  // namespace scry
