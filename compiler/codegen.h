// Kernel plans → object code for this machine's CPU.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/kernel_plan.h"

namespace scry {

/// Where compile time goes, in milliseconds.
struct CodegenTimes {
  double emit = 0, enzyme = 0, optimize = 0, codegen = 0;
};

struct CodegenRequest {
  std::span<const KernelPlan> kernels;
  Precision precision = Precision::kFloat;
  int num_tags = 1;
  std::string enzyme_path;  ///< needed if a plan is by_enzyme
  /// Called with the module's text: "emitted", "differentiated", "optimized".
  std::function<void(const std::string& when, const std::string& ir)> on_ir = {};
};

/// The object file, with one `void NAME(const KernelCall*)` per kernel. Throws Error if Enzyme
/// cannot be loaded or cannot differentiate a kernel.
std::vector<char> generate_object(const CodegenRequest& request, CodegenTimes& times);

/// The CPU that code is generated for: name and features, for the cache key and `scry info`.
std::string host_cpu();
std::string host_features();
std::string llvm_version();

}  // namespace scry
