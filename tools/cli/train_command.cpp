#include "tools/cli/train_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/write_file.h"
#include "compiler/compile.h"
#include "runtime/files/embeddings_file.h"
#include "runtime/files/parameters_file.h"
#include "tools/cli/command.h"
#include "tools/cli/output_file.h"
#include "tools/cli/report.h"
#include "tools/cli/settings_option.h"
#include "tools/cli/stop_signal.h"
#include "tools/cli/text.h"
#include "tools/cli/train_log.h"

namespace scry::cli {
namespace {

/// Sequences without tags; those of the file are passed over.
std::vector<Example> read_untagged(const std::string& path, const Task& task,
                                   const FileFormat& format) {
  std::vector<Example> examples;
  for (InputLine& line : read_inputs(path, task, false, format)) {
    if (!line.error.empty()) throw DataError(fmt::format("{}:{}: {}", path, line.line, line.error));
    examples.push_back({std::move(line.x), {}, std::move(line.symbols), {}, line.line});
  }
  return examples;
}

class TrainCommand {
 public:
  TrainCommand(const TrainCommandOptions& options, TrainGoal goal, const Bundle& bundle,
               const std::string& program_name)
      : options_(options),
        goal_(goal),
        program_name_(program_name),
        settings_(words_of(bundle.settings)),
        train_(read(options.train, bundle.model->task())),
        dev_(options.dev.empty() ? std::vector<Example>()
                                 : read(options.dev, bundle.model->task())),
        program_(compile(bundle, {.precision = options.precision == "double" ? Precision::kDouble
                                                                             : Precision::kFloat})),
        log_(options.log, options.training.resume) {
    check_goal();
    check_names(options_, program_);
  }

  int run() {
    const Parameters start = make_start();
    epoch_start_ = Clock::now();
    const TrainResult result = train(start);
    bar_.clear();
    if (!options_.report.empty()) write_report(result);
    if (result.was_interrupted) {
      note(fmt::format("interrupted after update {} of epoch {}; saved to {}; go on with --resume",
                       last_.update, last_.epoch, options_.output));
      return 128 + stop_.received();
    }
    if (!result.history.empty()) note(summary_of(result.history, goal_, options_.training.epochs));
    note(fmt::format("wrote {}", options_.output));
    note(fmt::format("next: {}", next_command(result)));
    return is_output_lost_ ? 1 : 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double num(size_t count) { return static_cast<double>(count); }

  bool learns() const { return goal_ != TrainGoal::kFit; }

  bool is_trained(const Block& block) const {
    const bool in_goal = goal_ == TrainGoal::kFitAndLearn ||
                         (block.group == ParamGroup::kProposal) == (goal_ == TrainGoal::kLearn);
    const std::vector<std::string>& frozen = options_.training.frozen;
    return in_goal && std::find(frozen.begin(), frozen.end(), block.name) == frozen.end();
  }

  double num_trained() const {
    int64_t count = 0;
    for (const Block& block : program_.params) {
      if (is_trained(block)) count += block.shape.size();
    }
    return static_cast<double>(count);
  }

  bool has_parameters(ParamGroup group) const {
    return std::any_of(program_.params.begin(), program_.params.end(),
                       [&](const Block& block) { return block.group == group; });
  }

  std::vector<Example> read(const std::string& path, const Task& task) const {
    const FileFormat format = options_.input_format.format();
    return goal_ == TrainGoal::kLearn ? read_untagged(path, task, format)
                                      : read_examples(path, task, format, KnownTags::kSome);
  }

  void check_goal() const {
    if (learns() && !program_.has_proposal()) {
      throw Error("the model has no proposal to learn; return one beside it in SCRY_MODEL()");
    }
    if (learns() && !has_parameters(ParamGroup::kProposal)) {
      throw Error("the model's proposal has no parameters to learn; it is ready for use");
    }
    if (goal_ != TrainGoal::kLearn && !has_parameters(ParamGroup::kModel)) {
      throw Error("the model has no parameters to fit; it is ready for use");
    }
    if (std::none_of(program_.params.begin(), program_.params.end(),
                     [&](const Block& block) { return is_trained(block); })) {
      throw UsageError("--freeze leaves no parameter to train");
    }
  }

  /// Before anything else is told, and after what is wrong with the files has been found.
  void introduce() {
    if (std::exchange(is_introduced_, true)) return;
    const std::string dev =
        dev_.empty() ? "" : fmt::format(", {} for development", group_digits(num(dev_.size())));
    note(fmt::format("{} {}{}, {} parameters, gradients by {}", group_digits(num(train_.size())),
                     train_.size() == 1 ? "example" : "examples", dev, group_digits(num_trained()),
                     program_.differentiator));
    for (const std::string& text : start_notes_) note(text);
  }

  void note(const std::string& text) {
    introduce();
    bar_.clear();
    // Standard error may be full or gone, which is no reason to lose a run.
    std::fputs(fmt::format("{}: {}\n", goal_ == TrainGoal::kFit ? "fit" : "learn", text).c_str(),
               stderr);
  }

  Parameters make_start() {
    const uint64_t seed = options_.training.seed;
    if (options_.goes_on()) return Parameters::fresh(program_, seed);  // the checkpoint has all
    Parameters start = Parameters::fresh(program_, seed);
    const auto note_later = [this](const std::string& text) { start_notes_.push_back(text); };
    if (options_.params.empty()) {
      if (goal_ == TrainGoal::kLearn) {
        throw UsageError(
            "--params is required: the model whose proposal is learned, as scry fit writes it; or "
            "fit both by --joint");
      }
    } else if (learns()) {
      ModelAndProposal given = read_model_parameters(options_.params, program_, seed, note_later);
      if (given.proposal_is_fresh)
        start_notes_.push_back(
            fmt::format("{} has no proposal; it starts afresh, by seed {}", options_.params, seed));
      start = std::move(given.parameters);
    } else {
      start = read_parameters(options_.params, program_, note_later);
    }
    for (const std::string& text : options_.embeddings) {
      const EmbeddingsOption option = split_embeddings(text);
      const EmbeddingCoverage coverage =
          read_embeddings(option.file, program_, option.parameter, start);
      start_notes_.push_back(fmt::format("embeddings of {}: {} of {} symbols found in {}",
                                         option.parameter, coverage.num_found, coverage.num_symbols,
                                         option.file));
    }
    return start;
  }

  TrainResult train(const Parameters& start) {
    const TrainHooks hooks{
        .progress = [this](const TrainProgress& now) { show(now); },
        .epoch = [this](const EpochReport& epoch) { report(epoch); },
        .resumed = [this](std::span<const EpochReport> epochs) { go_on(epochs); },
        .should_stop = [this] { return stop_.received() != 0; },
        .note = [this](const std::string& text) { note(text); }};
    const auto run = goal_ == TrainGoal::kFit     ? &scry::fit
                     : goal_ == TrainGoal::kLearn ? &scry::learn
                                                  : &scry::fit_and_learn;
    try {
      return run(program_, start, train_, dev_, options_.training, hooks);
    } catch (const ExampleError& error) {
      const bool in_dev = error.set() == ExampleSet::kDevelopment;
      const Example& example = (in_dev ? dev_ : train_).at(static_cast<size_t>(error.number()));
      throw DataError(fmt::format("{}:{}: {}", in_dev ? options_.dev : options_.train, example.line,
                                  error.message()));
    }
  }

  void show(const TrainProgress& now) {
    introduce();
    if (first_update_ == 0) {
      first_update_ = now.total_updates;
      if (first_update_ > 1)
        note(fmt::format("going on after update {} of epoch {}", now.update - 1, now.epoch));
    }
    last_ = now;
    if (bar_.is_due()) bar_.show(progress_of(now, goal_, first_update_));
  }

  void report(const EpochReport& epoch) {
    introduce();
    if (epoch.epoch == 0 && dev_.empty()) return;  // nothing was measured
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - epoch_start_).count();
    epoch_start_ = now;
    seconds_[epoch.epoch] = seconds;
    const std::string line = epoch_json(epoch, goal_, !dev_.empty(), seconds);
    bar_.clear();
    log_.add(line);
    if (is_output_lost_) return;
    try {
      write_result("", line);
    } catch (const Error& error) {
      is_output_lost_ = true;
      note(fmt::format("{}; training goes on", error.what()));
    }
  }

  void go_on(std::span<const EpochReport> epochs) {
    std::vector<TrainLog::Line> lines;
    for (const EpochReport& epoch : epochs) {
      if (epoch.epoch > 0 || !dev_.empty())
        lines.push_back({epoch.epoch, epoch_json(epoch, goal_, !dev_.empty(), NAN)});
    }
    log_.restore(lines);
  }

  void write_report(const TrainResult& result) const {
    std::string summary;
    if (result.was_interrupted) {
      summary = "The run was interrupted, and may go on by --resume.";
    } else if (!result.history.empty()) {
      summary = summary_of(result.history, goal_, options_.training.epochs);
    }
    std::vector<Json> epochs;
    for (const EpochReport& epoch : result.history) {
      if (epoch.epoch == 0 && dev_.empty()) continue;
      const auto seconds = seconds_.find(epoch.epoch);
      epochs.push_back(Json::parse(epoch_json(epoch, goal_, !dev_.empty(),
                                              seconds == seconds_.end() ? NAN : seconds->second)));
    }
    Report report{.title = fmt::format("scry {}: {}", learns() ? "learn" : "fit", program_name_),
                  .facts = {{"training", options_.train}}};
    if (!dev_.empty()) report.facts.emplace_back("development", options_.dev);
    report.facts.emplace_back("output", options_.output);
    report.facts.emplace_back("parameters trained", group_digits(num_trained()));
    report.facts.emplace_back("seed", fmt::format("{}", options_.training.seed));
    report.sections.push_back({{"kind", "training"},
                               {"title", "Training curves"},
                               {"summary", summary},
                               {"epochs", std::move(epochs)}});
    write_file(options_.report, to_html(report));
  }

  std::string next_command(const TrainResult& result) const {
    const bool learned_along =
        !result.history.empty() && result.history.back().train.contains(Tally::kKl);
    const bool to_learn =
        goal_ == TrainGoal::kFit && has_parameters(ParamGroup::kProposal) && !learned_along;
    const std::string command = to_learn ? "learn" : "sample";
    // A program made of a model file has that file's name.
    const std::string words = program_name_.ends_with(".cpp")
                                  ? fmt::format("scry {} {}", command, program_name_)
                                  : fmt::format("{} {}", program_name_, command);
    const std::string& dev = options_.dev;
    return fmt::format("{} --params {} ", words, options_.output) +
           (to_learn ? fmt::format("--train {}{} -o learned.safetensors", options_.train,
                                   dev.empty() ? "" : " --dev " + dev)
                     : fmt::format("--input {}", dev.empty() ? options_.train : dev)) +
           options_.input_format.words() + settings_;
  }

  TrainCommandOptions options_;
  TrainGoal goal_;
  std::string program_name_, settings_;
  std::vector<Example> train_, dev_;
  Program program_;
  TrainLog log_;
  std::vector<std::string> start_notes_;  // of make_start
  bool is_introduced_ = false, is_output_lost_ = false;
  StopSignal stop_;
  ProgressBar bar_{"updates"};
  TrainProgress last_;
  int64_t first_update_ = 0;
  Clock::time_point epoch_start_;
  std::map<int, double> seconds_;  // of the epochs of this process
};

}  // namespace

int run_training(TrainCommandOptions options, TrainGoal goal, const Bundle& bundle,
                 const std::string& program) {
  settle(options);
  return TrainCommand(options, goal, bundle, program).run();
}

}  // namespace scry::cli
