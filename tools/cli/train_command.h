// What `scry fit` and `scry learn` do.
#pragma once
#include <string>

#include "dsl/registry.h"
#include "tools/cli/train_options.h"
#include "tools/cli/train_report.h"

namespace scry::cli {

/// Reads, compiles, trains, reports; returns the exit code, which is 128 plus the signal's number
/// after an interruption. `program` is the name that the program was started by. Nothing is written
/// before all that can be checked is. Throws UsageError, DataError or Error.
int run_training(TrainCommandOptions options, TrainGoal goal, const Bundle& bundle,
                 const std::string& program);

}  // namespace scry::cli
