#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>

#include "tools/cli/command.h"
#include "tools/cli/decode_engine.h"
#include "tools/cli/decode_report.h"
#include "tools/cli/input_format.h"
#include "tools/cli/method_options.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/params_option.h"
#include "tools/cli/progress_bar.h"

namespace scry::cli {
namespace {

constexpr size_t kShownErrors = 20;
constexpr size_t kEnsembles = 64;  // that are held in memory at a time, at most

struct DecodeCommandOptions {
  std::string input, output, loss = loss_names()[0], format = "table";
  InputFormatOption input_format;
  DecodeChoice choice;
  int max_rows = 1 << 16, max_candidates = static_cast<int>(DecideOptions().max_candidates);
  bool constrained = false, alone = false;
};

/// What is only of use where something is sampled.
constexpr std::array kSamplingOptions{"--params", "--method",      "--particles", "--runs",
                                      "--seed",   "--temperature", "--constrain", "--max-rows",
                                      "--memory", "--precision",   "--alone"};

class DecodeCommand {
 public:
  DecodeCommand(const DecodeCommandOptions& options, const Bundle& bundle, const CLI::App& app)
      : options_(options),
        bundle_(bundle),
        task_(bundle.model->task()),
        app_(app),
        engine_(options.choice, bundle) {}

  int run() {
    const bool as_table = options_.format == "table";
    const auto wait = as_table ? InputReader::Wait::kForAll : InputReader::Wait::kForSome;
    FileFormat format = options_.input_format.format();
    format.may_be_ensembles = true;
    InputReader reader(options_.input, task_,
                       options_.constrained ? GivenTags::kAllowed : GivenTags::kGold, format);
    std::vector<InputLine> lines;  // that are next
    reader.fill(lines, 1);
    begin(lines.front());
    const size_t most = lines.front().is_of_ensembles ? kEnsembles : DecodeEngine::kPart;
    reader.fill(lines, most, wait);
    const Style style = options_.output.empty() ? Style::for_stdout() : Style(false);
    ResultStream output(options_.output);
    TextTable::Layout layout;
    ProgressBar bar("sequences");
    for (size_t first = 0, count = 0; !lines.empty(); first += count) {
      count = engine_.count_part(lines);
      bar.show({.done = first, .part = reader.part_of(first)});
      const std::vector<DecodeResult> results =
          engine_.decode(std::span(lines).first(count), first);
      std::string text;
      if (as_table) text = decision_table(results, task_, style, layout);
      for (const DecodeResult& result : results) {
        note(result);
        if (options_.format == "jsonl")
          text += decision_json(result, task_, options_.choice.loss, engine_.parameters_origin());
        if (options_.format == "tags") text += tagged_text(result, task_);
      }
      bar.clear();
      output.write(text);
      lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(count));
      reader.fill(lines, most, wait);
    }
    if (comparison_.num_sequences() > 0) {
      const std::vector<ComparedRow> rows = comparison_.rows();
      const size_t num = comparison_.num_sequences();
      if (as_table) output.write(comparison_table(rows, num, num_left_out_, style));
      if (options_.format == "jsonl") output.write(comparison_json(rows, num, num_left_out_));
      if (options_.format == "tags")
        tell_lines(comparison_table(rows, num, num_left_out_, Style(false)));
    }
    output.finish();
    report_errors();
    return num_errors_ == 0 ? 0 : 1;
  }

 private:
  /// Whether something is to be sampled is known by the first line.
  void begin(const InputLine& line) {
    if (!line.is_of_ensembles) {
      engine_.bind(bundle_);
      if (engine_.parameters_origin() == std::string("random")) {
        tell(fmt::format("scry: there is no --params: the weights are random, of seed {}",
                         options_.choice.sampling.seed));
      }
      comparison_ = Comparison(engine_.compared());
      return;
    }
    for (const char* option : kSamplingOptions) {
      if (app_.get_option(option)->count() > 0) {
        throw UsageError(
            fmt::format("{} has no use with an input of ensembles: they are sampled", option));
      }
    }
  }

  std::string input_name() const {
    return options_.input == "-" ? "standard input" : options_.input;
  }

  void note(const DecodeResult& result) {
    if (!result.tallies.empty()) {
      comparison_.add(result.tallies);
    } else if (result.line->gold && options_.choice.compares) {
      ++num_left_out_;
    }
    if (result.error.empty()) return;
    // A file of tags without some of its sequences would pass for the whole.
    if (options_.format == "tags")
      throw DataError(fmt::format("{}:{}: {}", input_name(), result.line->line, result.error));
    if (++num_errors_ <= kShownErrors) errors_.emplace_back(result.line->line, result.error);
  }

  void report_errors() const {
    for (const auto& [line, error] : errors_)
      tell(fmt::format("{}:{}: {}", input_name(), line, error));
    if (num_errors_ > errors_.size())
      tell(fmt::format("{}: {} more lines failed", input_name(), num_errors_ - errors_.size()));
  }

  DecodeCommandOptions options_;
  const Bundle& bundle_;
  const Task& task_;
  const CLI::App& app_;
  DecodeEngine engine_;
  Comparison comparison_{{}};
  size_t num_left_out_ = 0, num_errors_ = 0;
  std::vector<std::pair<int, std::string>> errors_;  // the first, by line
};

}  // namespace

Action declare_decode(CLI::App& app) {
  auto options = std::make_shared<DecodeCommandOptions>();
  SampleOptions& sampling = options->choice.sampling;
  app.add_option("--input", options->input,
                 "Sequences, one a line or in columns, with gold tags if they are known; or "
                 "ensembles, as scry sample --format jsonl writes them; - is standard input")
      ->type_name("FILE")
      ->required()
      ->check([](const std::string& path) {
        return path == "-" ? std::string() : CLI::ExistingPath(path);
      });
  add_input_format(app, options->input_format, "--input-format", true);
  add_choice(app, "--loss", options->loss, {loss_names().begin(), loss_names().end()},
             "What a decision costs: wrong tags; 1 if any is wrong; 1 - F1 of labelled spans; "
             "edits; or the model file's own");
  add_params(app, options->choice.params);
  std::vector<std::string> methods;
  for (const std::string& name : offered_methods())
    if (find_method(name)->finds_ensembles()) methods.push_back(name);
  add_choice(app, "--method", options->choice.method, methods,
             fmt::format("What p(y|x) is known by, as for scry sample; {} unless given. Other ways "
                         "to sample: pipe its jsonl",
                         row_of(default_method(true)).name))
      ->default_str("");
  add_count(app, "-M,--particles", sampling.particles, 1, "Particles, or the beam's width")
      ->capture_default_str();
  add_count(app, "--runs", options->choice.runs, 1, "Independent runs, pooled")
      ->capture_default_str();
  add_number(
      app, "--temperature", sampling.temperature, "a number above 0",
      [](double x) { return x > 0 && x < INFINITY; }, "Decide by exp(G_T / temperature)");
  app.add_flag("--constrain", options->constrained,
               "Where tags stand, a file has the tags allowed there: * or TAG or TAG|TAG");
  add_count(app, "--candidates", options->max_candidates, 1,
            "spans, edit, own: the heaviest taggings that are compared")
      ->capture_default_str();
  app.add_flag("--alone", options->alone, "With gold tags: compare with no other way");
  add_choice(app, "--format", options->format, {"table", "jsonl", "tags"},
             "A table, one JSON object a line, or the input with the decided tags");
  add_count(app, "--max-rows", options->max_rows, 1, max_rows_help())->capture_default_str();
  add_memory(app, sampling.memory);
  add_seed(app, sampling.seed, "Seed of the draws, and of fresh parameters");
  add_count(app, "--threads", sampling.threads, 0, "0 for all cores")->capture_default_str();
  add_choice(app, "--precision", options->choice.precision, {"float", "double"}, "Of the kernels");
  add_output(app, options->output);
  return [options, &app](const Bundle& bundle) {
    check_method_options(app, options->choice.method);
    options->choice.loss = named<LossKind>(loss_names(), options->loss);
    options->choice.compares = !options->alone;
    const bool is_pairwise =
        options->choice.loss != LossKind::kHamming && options->choice.loss != LossKind::kWhole;
    if (app.get_option("--candidates")->count() > 0 && !is_pairwise) {
      throw UsageError(fmt::format(
          "--candidates has no use with --loss {}: it is for spans, edit, own", options->loss));
    }
    options->choice.sampling.max_rows = options->max_rows;
    options->choice.deciding.max_candidates = static_cast<size_t>(options->max_candidates);
    return DecodeCommand(*options, bundle, app).run();
  };
}

}  // namespace scry::cli
