#include "tools/cli/train_options.h"

#include <filesystem>

#include "base/quote.h"
#include "base/write_file.h"
#include "tools/cli/command.h"
#include "tools/cli/options.h"
#include "tools/cli/output_rule.h"
#include "tools/cli/params_option.h"
#include "tools/cli/report.h"

namespace scry::cli {
namespace {

namespace fs = std::filesystem;

std::string check_embeddings(const std::string& given) {
  const EmbeddingsOption option = split_embeddings(given);
  if (option.parameter.empty() || option.file.empty())
    return fmt::format("'{}' is not PARAMETER=FILE", given);
  return CLI::ExistingFile(option.file);
}

void add_file(CLI::App& app, const char* name, std::string& path, const char* help) {
  app.add_option(name, path, help)->type_name("FILE")->check([](const std::string& given) {
    return CLI::ExistingPath(given);
  });
}

void add_adam(CLI::App& app, AdamOptions& adam) {
  const auto is_positive = [](double x) { return x > 0 && std::isfinite(x); };
  const auto is_not_negative = [](double x) { return x >= 0 && std::isfinite(x); };
  const auto is_decay = [](double x) { return x >= 0 && x < 1; };
  add_number(app, "--rate", adam.rate, "a number above 0", is_positive, "Learning rate of Adam");
  add_number(app, "--beta1", adam.beta1, "at least 0 and below 1", is_decay,
             "Decay of Adam's mean of gradients");
  add_number(app, "--beta2", adam.beta2, "at least 0 and below 1", is_decay,
             "Decay of Adam's mean of their squares");
  add_number(app, "--epsilon", adam.epsilon, "a number above 0", is_positive,
             "Adam's least divisor");
  add_number(app, "--l2", adam.l2, "a number of at least 0", is_not_negative, "L2 regularization");
  add_number(app, "--clip", adam.clip, "a number of at least 0", is_not_negative,
             "Longest gradient; 0 for any");
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

void check_paths(const TrainCommandOptions& options) {
  const auto refuse_equal = [](const char* name, const std::string& path, const char* other_name,
                               const std::string& other) {
    if (!is_same_file(path, other)) return;
    throw UsageError(fmt::format("{} and {} are the same file '{}', which would be lost", name,
                                 other_name, path));
  };
  refuse_equal("--output", options.output, "--train", options.train);
  refuse_equal("--output", options.output, "--dev", options.dev);
  for (const auto& [name, path] : {std::pair{"--train", options.train},
                                   {"--dev", options.dev},
                                   {"--params", options.params},
                                   {"--output", options.output}}) {
    refuse_equal("--log", options.log, name, path);
  }
  for (const std::string& text : options.embeddings) {
    const std::string file = split_embeddings(text).file;
    refuse_equal("--output", options.output, "--embed", file);
    refuse_equal("--log", options.log, "--embed", file);
  }
  if (options.training.overwrite || options.training.resume) return;
  if (is_same_file(options.output, options.params)) {
    throw UsageError(
        fmt::format("--output and --params are the same file '{}'; give another, or --overwrite",
                    options.output));
  }
  if (is_file(options.output)) {
    throw UsageError(
        fmt::format("'{}' exists; go on with its run by --resume, or replace it by --overwrite",
                    options.output));
  }
  if (is_file(options.log)) {
    throw UsageError(fmt::format(
        "'{}' exists; give another --log, go on by --resume, or replace it by --overwrite",
        options.log));
  }
}

}  // namespace

bool TrainCommandOptions::goes_on() const { return training.resume && is_file(output); }

EmbeddingsOption split_embeddings(const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos) return {};
  return {text.substr(0, at), text.substr(at + 1)};
}

CLI::Option* add_objective(CLI::App& app, TrainCommandOptions& options) {
  return add_choice(app, "--objective", options.objective, {"auto", "joint", "conditional"},
                    "Likelihood: log p(x,y), log p(y|x) (exactly where states are finite, else by "
                    "sampling), or joint if the model seems to be locally normalized");
}

CLI::Option* add_gradient(CLI::App& app, TrainCommandOptions& options) {
  std::vector<std::string> names;
  std::string help = "Of log p(y|x): what the given tags y* are set against";
  for (const ContrastRow& row : contrast_table()) {
    names.emplace_back(row.name);
    help += fmt::format("\n{:9} {}", row.name, row.summary);
  }
  return add_choice(app, "--gradient", options.gradient, names, help);
}

void add_particles(CLI::App& app, TrainCommandOptions& options) {
  add_count(app, "-M,--particles", options.training.particles, 1,
            "Particles of a sequence, where sampling is needed")
      ->capture_default_str();
}

void add_train_files(CLI::App& app, TrainCommandOptions& options) {
  add_file(app, "--train", options.train, "Training examples, one a line or in columns");
  app.get_option("--train")->required();
  add_file(app, "--dev", options.dev, "Development examples: the best epoch on them is kept");
  add_input_format(app, options.input_format);
  add_output(app, options.output)
      ->description("The safetensors file to write: parameters, and the state of the run")
      ->required();
}

void add_training(CLI::App& app, TrainCommandOptions& options) {
  TrainOptions& training = options.training;
  add_count(app, "--epochs", training.epochs, 1, "Epochs, at most")->capture_default_str();
  add_count(app, "--patience", training.patience, 0,
            "Stop after so many epochs without a better development score; 0 for never")
      ->capture_default_str();
  add_count(app, "--batch", training.batch, 1, "Sequences of an update")->capture_default_str();
  add_adam(app, training.adam);
  add_choice(
      app, "--schedule", options.schedule, {"constant", "linear", "cosine"},
      "The rate over all epochs: constant, constant for a half and then linearly to 0, or by "
      "a cosine to 0");
  app.add_option("--freeze", training.frozen, "A parameter that stays as it is; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--embed", options.embeddings,
                 "Vectors of symbols to begin with, as word2vec and GloVe write them; repeatable")
      ->type_name("PARAMETER=FILE")
      ->allow_extra_args(false)
      ->check(check_embeddings);
  add_seed(app, training.seed, "Seed of fresh parameters, of the order of examples and of draws");
  add_count(app, "--threads", training.threads, 0, "0 for all cores")->capture_default_str();
  add_memory(app, training.memory);
  add_choice(app, "--precision", options.precision, {"float", "double"}, "Of the kernels");
  app.add_option("--log", options.log,
                 "Append the JSON line of each epoch here, besides standard output")
      ->type_name("FILE");
  add_report(app, options.report);
  add_number(
      app, "--save-every", training.save_seconds, "a number above 0",
      [](double x) { return x > 0 && std::isfinite(x); }, "Seconds between saves within an epoch")
      ->type_name("SECONDS");
  check_number(app.add_option("--save-updates", training.save_updates,
                              "Save after so many updates, too; 0 for no limit")
                   ->type_name("N"),
               "a whole number", [](double x) { return x >= 0 && x <= 1e9 && x == std::floor(x); });
  CLI::Option* resume =
      app.add_flag("--resume", training.resume,
                   "Go on with the run in the output file, to the bit as if it never stopped");
  app.add_flag("--overwrite", training.overwrite, "Replace the output and the log")
      ->excludes(resume);
}

void settle(TrainCommandOptions& options) {
  check_paths(options);
  check_writable(options.output);
  if (!options.report.empty()) check_writable(options.report);
  options.training.checkpoint = options.output;
  options.training.selection = options.select == "kl" ? Selection::kKl : Selection::kOffsetKl;
  for (const Baseline baseline : {Baseline::kLeaveOneOut, Baseline::kAverage}) {
    if (options.baseline == name_of(baseline)) options.training.baseline = baseline;
  }
  for (const RateSchedule schedule :
       {RateSchedule::kConstant, RateSchedule::kLinear, RateSchedule::kCosine}) {
    if (options.schedule == name_of(schedule)) options.training.schedule = schedule;
  }
  for (const ContrastRow& row : contrast_table()) {
    if (options.gradient == row.name) options.training.contrast = row.contrast;
  }
  options.training.likelihood = options.objective == "joint"         ? Likelihood::kJoint
                                : options.objective == "conditional" ? Likelihood::kConditional
                                                                     : Likelihood::kAuto;
}

void check_names(const TrainCommandOptions& options, const Program& program) {
  const auto check = [&](const char* option, const std::string& name) {
    std::vector<std::string> names;
    for (const Block& block : program.params) {
      if (block.name == name) return;
      names.push_back(block.name);
    }
    throw UsageError(fmt::format("{}: the model has no parameter {}; it has {}", option,
                                 quote(name, 100), fmt::join(names, ", ")));
  };
  for (const std::string& name : options.training.frozen) check("--freeze", name);
  for (const std::string& text : options.embeddings)
    check("--embed", split_embeddings(text).parameter);
}

}  // namespace scry::cli
