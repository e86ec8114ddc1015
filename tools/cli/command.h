// What a command of `scry` is.
#pragma once
#include <functional>

#include "base/error.h"
#include "dsl/registry.h"

namespace CLI {
class App;
}

namespace scry::cli {

/// A mistake on the command line: exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Runs a command whose options were read, and returns the exit code. The bundle is empty for a
/// command that takes no model.
using Action = std::function<int(const Bundle& bundle)>;

struct Command {
  const char* name;
  const char* summary;
  const char* example;  ///< of its arguments; MODEL stands where a model file's name does
  bool takes_model;
  /// Adds the command's options; they are read when the action runs.
  Action (*declare)(CLI::App& app);
};

Action declare_info(CLI::App& app);
Action declare_graph(CLI::App& app);
Action declare_check(CLI::App& app);
Action declare_init(CLI::App& app);
Action declare_fit(CLI::App& app);
Action declare_learn(CLI::App& app);
Action declare_score(CLI::App& app);
Action declare_sample(CLI::App& app);
Action declare_impute(CLI::App& app);
Action declare_decode(CLI::App& app);
Action declare_rescore(CLI::App& app);
Action declare_eval(CLI::App& app);
Action declare_vocab(CLI::App& app);
Action declare_version(CLI::App& app);

}  // namespace scry::cli
