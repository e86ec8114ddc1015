// Model (and Proposal) → Program: the one entry to the compiler.
#pragma once
#include <functional>
#include <string>

#include "compiler/codegen.h"
#include "compiler/program.h"
#include "dsl/registry.h"

namespace scry {

enum class Differentiator : uint8_t {
  kAuto,     ///< Enzyme if its plugin is found, else the adjoint
  kEnzyme,   ///< Enzyme, or an Error
  kAdjoint,  ///< the built-in adjoint on the graph
};

struct CompileOptions {
  Precision precision = Precision::kFloat;
  Differentiator differentiator = Differentiator::kAuto;
  bool gradients = true;
  bool hold_stopped = false;  ///< with the model's twin (hold_stopped.h); needs gradients = false
  bool use_cache = true;
  std::string cache_folder = {};  ///< empty: default_cache_folder()
  /// Told in one line what went wrong where compilation goes on all the same. Default: standard
  /// error.
  std::function<void(const std::string&)> warn = {};
  std::function<void(const std::string& when, const std::string& ir)> on_ir = {};
};

/// How a compilation went.
struct CompileReport {
  bool from_cache = false;
  std::string cache_file;
  double graphs_ms = 0;  ///< tracing, passes, adjoint, schedules
  CodegenTimes codegen;
  double load_ms = 0;
};

/// Whether the model calls stop_gradient itself (hold_stopped.h).
bool stops_gradients(const Bundle& bundle);

/// Traces, optimises, differentiates and compiles. Throws ModelError at the user's line, or Error.
Program compile(const Model& model, const Proposal* proposal, const CompileOptions& options = {},
                CompileReport* report = nullptr);
inline Program compile(const Model& model, const CompileOptions& options = {}) {
  return compile(model, nullptr, options);
}
inline Program compile(const Model& model, const Proposal& proposal,
                       const CompileOptions& options = {}) {
  return compile(model, &proposal, options);
}
inline Program compile(const Bundle& bundle, const CompileOptions& options = {}) {
  return compile(*bundle.model, bundle.proposal.get(), options);
}

}  // namespace scry
