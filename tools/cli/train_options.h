// The options that `scry fit` and `scry learn` have in common.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "compiler/program.h"
#include "runtime/train/train.h"
#include "tools/cli/input_format.h"

namespace scry::cli {

struct TrainCommandOptions {
  std::string train, dev, params, output, log, report,
      objective = "auto", gradient = "auto", select = "offset-kl", baseline = "leave-one-out",
      schedule = "constant", precision = "float";
  InputFormatOption input_format;
  std::vector<std::string> embeddings;  ///< PARAMETER=FILE
  TrainOptions training;                ///< complete after settle()

  /// Whether there is a run to go on with.
  bool goes_on() const;
};

/// In the order of the help: the files, what is minimized, and how.
void add_train_files(CLI::App& app, TrainCommandOptions& options);
CLI::Option* add_objective(CLI::App& app, TrainCommandOptions& options);
/// --gradient: what y* is set against where the likelihood is conditional.
CLI::Option* add_gradient(CLI::App& app, TrainCommandOptions& options);
void add_particles(CLI::App& app, TrainCommandOptions& options);
void add_training(CLI::App& app, TrainCommandOptions& options);

/// Completes `options.training` and makes sure that no file is lost. Throws UsageError, or Error if
/// a file cannot be written.
void settle(TrainCommandOptions& options);

/// Throws UsageError if one of --freeze or --embed names no parameter.
void check_names(const TrainCommandOptions& options, const Program& program);

struct EmbeddingsOption {
  std::string parameter, file;
};
EmbeddingsOption split_embeddings(const std::string& text);

}  // namespace scry::cli
