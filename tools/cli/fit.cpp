#include <CLI/CLI.hpp>

#include "tools/cli/command.h"
#include "tools/cli/params_option.h"
#include "tools/cli/train_command.h"

namespace scry::cli {

Action declare_fit(CLI::App& app) {
  auto options = std::make_shared<TrainCommandOptions>();
  add_train_files(app, *options);
  add_params(app, options->params)
      ->description("Parameters to start from; fresh ones if not given");
  add_objective(app, *options);
  add_gradient(app, *options);
  add_particles(app, *options);
  add_training(app, *options);
  return [options, &app](const Bundle& bundle) {
    return run_training(*options, TrainGoal::kFit, bundle, app.get_parent()->get_name());
  };
}

}  // namespace scry::cli
