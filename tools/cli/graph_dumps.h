// What happens to a model between its file and the machine: `scry graph --passes` and `--ir`.
#pragma once
#include <string>

#include "compiler/compile.h"

namespace scry::cli {

/// Whether to show `name`, such as "extend.gradient", if `stage` is asked for; all if it is empty.
bool is_of_stage(const std::string& name, const std::string& stage);

/// Each stage's graph as traced, after each pass that changed it, and with its tables taken out.
/// With `gradients` the built-in adjoint's graphs too.
std::string dump_passes(const ModelGraphs& model, const std::string& stage, bool gradients);

/// LLVM's text when it is "emitted", "differentiated" and "optimized"; `when` is one of these, or
/// "all", or "" for the first two. With a stage, only its functions.
std::string dump_ir(const Bundle& bundle, const std::string& stage, const std::string& when,
                    Differentiator differentiator);

}  // namespace scry::cli
