// The command line of `scry` and of every model program.
#pragma once
#include "dsl/registry.h"

namespace scry::cli {

/// Makes the linked model file's model.
using MakeModel = Bundle (*)(Settings& settings);

/// Runs the command that argv names. The exit code is 0, 1 (data, model or run-time error) or
/// 2 (usage error); an error is one line on standard error.
/// `make_model` is null in the scry command itself.
int run(int argc, const char* const* argv, MakeModel make_model);

}  // namespace scry::cli
