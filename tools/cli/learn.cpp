#include <CLI/CLI.hpp>
#include <cmath>

#include "tools/cli/command.h"
#include "tools/cli/options.h"
#include "tools/cli/params_option.h"
#include "tools/cli/train_command.h"

namespace scry::cli {

Action declare_learn(CLI::App& app) {
  struct LearnOptions : TrainCommandOptions {
    bool both = false;
  };
  auto options = std::make_shared<LearnOptions>();
  options->training.epochs = 20;
  add_train_files(app, *options);
  app.get_option("--train")->description("Training sequences, one a line; tags are not needed");
  add_params(app, options->params)
      ->description(
          "The model, as scry fit or PyTorch wrote it; its proposal, if any, is the start");
  add_number(
      app, "--lambda", options->training.lambda, "between 0 and 1",
      [](double x) { return x >= 0 && x <= 1; },
      "Minimize (1-lambda) KL(p||q) + lambda KL(q||p) + mu mean r^2");
  add_number(
      app, "--calibrate", options->training.calibrate, "a number of at least 0",
      [](double x) { return x >= 0 && std::isfinite(x); },
      "mu, of how far C + h is from consistent, r = C(t-1) + h - log sum exp(g + C(t)); 0 for not "
      "at all")
      ->type_name("MU");
  add_choice(app, "--baseline", options->baseline, {"leave-one-out", "average"},
             "What calms the gradient of KL(q||p): the mean of a sequence's other particles, or a "
             "moving average over all sequences");
  add_particles(app, *options);
  add_choice(app, "--select", options->select, {"offset-kl", "kl"},
             "The best epoch has the lowest of these on --dev: the offset KL of a sample of M "
             "particles, or KL(q||p)");
  CLI::Option* both = app.add_flag("--joint", options->both,
                                   "Fit the model as well, in the same updates, which needs tags");
  add_objective(app, *options)->needs(both);
  add_gradient(app, *options)->needs(both);
  add_training(app, *options);
  return [options, &app](const Bundle& bundle) {
    const TrainGoal goal = options->both ? TrainGoal::kFitAndLearn : TrainGoal::kLearn;
    if (goal == TrainGoal::kLearn && options->params.empty() && !options->training.resume) {
      throw UsageError(
          "--params is required: the model whose proposal is learned, as scry fit writes it; or "
          "fit "
          "both by --joint");
    }
    return run_training(*options, goal, bundle, app.get_parent()->get_name());
  };
}

}  // namespace scry::cli
