#include "runtime/smc/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "compiler/compile.h"
#include "runtime/search/exact.h"
#include "runtime/search/search.h"
#include "runtime/smc/chain.h"
#include "runtime/smc/memory.h"
#include "runtime/smc/sampler.h"
#include "tools/cli/command.h"
#include "tools/cli/input_format.h"
#include "tools/cli/method_options.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/params_option.h"
#include "tools/cli/part_size.h"
#include "tools/cli/progress_bar.h"
#include "tools/cli/sample_pictures.h"
#include "tools/cli/sample_report.h"

namespace scry::cli {
namespace {

constexpr size_t kPart = 512;  // sequences held in memory at a time, at most
constexpr size_t kShownErrors = 20;

struct SampleCommandOptions {
  std::string params, input, output, report, report_inputs, method, format = "table",
                                                                    precision = "float";
  std::string scheme = name_of(scheme_names(), SampleOptions().resampling),
              resample_at = name_of(resample_at_names(), SampleOptions().resample_at),
              draws = name_of(draws_names(), SampleOptions().draws),
              weights = name_of(weights_names(), SampleOptions().weights), resample, rank_by;
  InputFormatOption input_format;
  SampleOptions sampling;
  int runs = 1, top = -1, sweeps = 1;
  int64_t max_rows = 0;
  bool constrained = false, retains = false, with_steps = false, with_stats = false,
       with_marginals = false;
};

class SampleCommand {
 public:
  SampleCommand(const SampleCommandOptions& options, const Bundle& bundle)
      : options_(options),
        format_(options.input_format.format()),
        program_(compile(bundle, {.precision = options.precision == "double" ? Precision::kDouble
                                                                             : Precision::kFloat,
                                  .gradients = false})),
        parameters_(parameters_of(program_, options.params, options.sampling.seed)),
        method_(chosen_method(options.method, options.rank_by, program_.has_proposal())),
        sampler_(program_, parameters_, options.sampling.threads) {
    SampleOptions& sampling = options_.sampling;
    if (method_.make != nullptr) sampling.method = method_.method;
    // A best-first search keeps the states of all it met.
    sampling.max_rows = options_.max_rows > 0              ? options_.max_rows
                        : method_.method == Method::kAstar ? SearchOptions().max_rows
                                                           : int64_t{1} << 20;
    sampling.resampling = named<Resampling>(scheme_names(), options_.scheme);
    sampling.resample_at = named<ResampleAt>(resample_at_names(), options_.resample_at);
    sampling.trigger = named<Trigger>(trigger_names(), options_.resample);
    sampling.draws = named<Draws>(draws_names(), options_.draws);
    sampling.weights = named<Weights>(weights_names(), options_.weights);
  }

  int run() {
    const bool as_table = options_.format == "table";
    // A table's columns are as wide as a part of it needs, so how fast lines come must not matter.
    const auto wait = as_table ? InputReader::Wait::kForAll : InputReader::Wait::kForSome;
    InputReader reader(options_.input, program_.task, options_.constrained || options_.retains,
                       format_);
    std::vector<InputLine> lines;  // that are next
    reader.fill(lines, kPart, wait);
    tell_of_random(program_, options_.params, options_.sampling.seed);
    const size_t top = options_.top < 0    ? (as_table ? 3 : SIZE_MAX)
                       : options_.top == 0 ? SIZE_MAX
                                           : static_cast<size_t>(options_.top);
    const Style style = options_.output.empty() ? Style::for_stdout() : Style(false);
    ResultStream output(options_.output);
    std::optional<SamplePictures> pictures;
    if (!options_.report.empty()) pictures.emplace(pictures_options(), program_, parameters_);
    TextTable::Layout layout;
    SampleTotals totals;
    ProgressBar bar("sequences");
    for (size_t first = 0, count = 0; !lines.empty(); first += count) {
      count = count_part(program_, lines, options_.sampling, options_.runs, kPart);
      options_.sampling.progress = [&](size_t done) {
        bar.show({.done = first + done, .part = reader.part_of(first + done)});
      };
      const std::vector<SampleResult> results = run_part(std::span(lines).first(count), first);
      std::string text;
      if (as_table) {
        text = options_.with_marginals ? marginals_table(results, program_.task, style, layout)
                                       : result_table(results, program_.task, top, style, layout);
      }
      for (const SampleResult& result : results) {
        totals.add(result);
        if (pictures) pictures->add(result);
        note_error(result);
        if (!as_table)
          text += result_json(result, program_.task, method_.name, parameters_origin(), top,
                              options_.with_steps, options_.with_marginals);
      }
      bar.clear();
      output.write(text);
      lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(count));
      reader.fill(lines, kPart, wait);
    }
    output.finish();
    if (pictures && !pictures->write()) ++num_errors_;
    report_errors();
    if (options_.with_stats) {
      tell_lines(format_totals(totals, seconds_, sampler_.num_threads(), Style(false)));
    }
    return num_errors_ == 0 ? 0 : 1;
  }

 private:
  std::vector<SampleResult> run_part(std::span<const InputLine> lines, size_t first) {
    options_.sampling.first_sequence = static_cast<int64_t>(first);
    std::vector<SampleResult> results(lines.size());
    std::vector<SampleInput> inputs(lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      results[i].line = &lines[i];
      results[i].sequence = static_cast<int64_t>(first + i);
      results[i].error = lines[i].error;
      if (lines[i].error.empty()) inputs[i] = {lines[i].x, lines[i].allowed};
    }
    const auto start = std::chrono::steady_clock::now();
    if (options_.retains) {
      run_chains(lines, results);
    } else if (method_.finds_ensembles()) {
      take_outcomes(sample_all(inputs), results);
    } else {
      search(inputs, results);
    }
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return results;
  }

  /// From the lines' own tags on.
  void run_chains(std::span<const InputLine> lines, std::vector<SampleResult>& results) {
    std::vector<std::vector<int>> given(lines.size());
    std::vector<SampleInput> inputs(lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      if (!results[i].error.empty()) continue;
      results[i].error = read_given(lines[i], given[i]);
      if (results[i].error.empty()) inputs[i] = SampleInput(lines[i].x, TagSets(), given[i]);
    }
    const std::vector<Chain> chains =
        scry::run_chains(sampler_, inputs, options_.sampling, options_.sweeps);
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].error.empty()) continue;
      if (chains[i].error) {
        results[i].error = explain(*chains[i].error);
        continue;
      }
      results[i].ensemble = chains[i].ensemble;
      results[i].state = chains[i].state;
    }
  }

  /// What is wrong with the tags of a line, if they are to be one tagging; empty if nothing is.
  std::string read_given(const InputLine& line, std::vector<int>& given) const {
    const TagSets& sets = line.allowed;
    if (sets.empty()) return line.x.empty() ? "" : "there are no tags, and --given needs them";
    for (int step = 1; step <= sets.length(); ++step) {
      int num_allowed = 0;
      for (int tag = 0; tag < sets.num_tags(); ++tag) {
        if (!sets.allows(step, tag)) continue;
        if (++num_allowed == 1) given.push_back(tag);
      }
      if (num_allowed != 1) return fmt::format("step {}: --given needs one tag here", step);
    }
    return "";
  }

  static void take_outcomes(std::vector<Outcome> outcomes, std::vector<SampleResult>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].error.empty()) continue;
      if (outcomes[i].error) {
        results[i].error = explain(*outcomes[i].error);
      } else {
        results[i].ensemble = std::move(outcomes[i].ensemble);
      }
    }
  }

  SamplePictures::Options pictures_options() const {
    return {.path = options_.report,
            .inputs = options_.report_inputs,
            .input_file = options_.input,
            .parameters_file = options_.params,
            .sampling = options_.sampling,
            .goes_step_by_step = method_.make != nullptr,
            .method = method_.name,
            .runs = options_.runs,
            .sweeps = options_.retains ? options_.sweeps : 0};
  }

  const char* parameters_origin() const {
    return program_.params.empty() ? "none" : options_.params.empty() ? "random" : "file";
  }

  std::vector<Outcome> sample_all(std::span<const SampleInput> inputs) {
    if (method_.make == nullptr) {
      std::vector<Outcome> outcomes = exact(program_, parameters_, inputs, options_.sampling);
      for (Outcome& outcome : outcomes) {
        if (options_.sampling.weights == Weights::kScore && !outcome.error)
          weigh_by_score(outcome.ensemble);
      }
      return outcomes;
    }
    return options_.runs > 1 ? sampler_.sample_runs(inputs, options_.sampling, options_.runs)
                             : sampler_.sample(inputs, options_.sampling);
  }

  static std::string explain(const SamplingError& error) {
    const std::string message = in_option_words(error.message());
    return error.step() == 0 ? message : fmt::format("step {}: {}", error.step(), message);
  }

  void search(const std::vector<SampleInput>& inputs, std::vector<SampleResult>& results) const {
    const auto search_one = [&](const SampleInput& input, const SearchOptions& options) {
      if (method_.method == Method::kViterbi)
        return k_best(program_, parameters_, input, std::max(1, options_.top), options);
      return std::vector{search_best_first(program_, parameters_, input, options)};
    };
    Workers workers(options_.sampling.threads);
    const auto num_inputs = static_cast<int64_t>(inputs.size());
    std::vector<char> is_bad(inputs.size());  // as it was read
    for (size_t i = 0; i < results.size(); ++i) is_bad[i] = results[i].error.empty() ? 0 : 1;
    run_in_memory(
        workers, num_inputs, options_.sampling.memory, [&](int, int64_t i, int64_t bytes) {
          SampleResult& result = results[static_cast<size_t>(i)];
          if (is_bad[static_cast<size_t>(i)] != 0) return true;
          try {
            result.best = search_one(inputs[static_cast<size_t>(i)],
                                     {result.sequence, options_.sampling.max_rows, bytes});
            result.error.clear();
            return true;
          } catch (const SamplingError& error) {
            result.error = explain(error);
            return error.trouble() != Trouble::kTooMuchMemory;
          }
        });
  }

  void note_error(const SampleResult& result) {
    if (result.error.empty()) return;
    if (++num_errors_ <= kShownErrors) errors_.emplace_back(result.line->line, result.error);
  }

  void report_errors() const {
    const std::string name = options_.input == "-" ? "standard input" : options_.input;
    for (const auto& [line, error] : errors_) tell(fmt::format("{}:{}: {}", name, line, error));
    if (num_errors_ > errors_.size())
      tell(fmt::format("{}: {} more lines failed", name, num_errors_ - errors_.size()));
  }

  SampleCommandOptions options_;
  FileFormat format_;
  Program program_;
  Parameters parameters_;
  const MethodRow& method_;
  Sampler sampler_;
  std::vector<std::pair<int, std::string>> errors_;  // the first, by line
  size_t num_errors_ = 0;
  double seconds_ = 0;  // of sampling or searching
};

std::vector<std::string> strings(std::span<const char* const> names) {
  return {names.begin(), names.end()};
}

}  // namespace

Action declare_sample(CLI::App& app) {
  auto options = std::make_shared<SampleCommandOptions>();
  SampleOptions& sampling = options->sampling;
  app.add_option("--input", options->input,
                 "Sequences, one a line: symbols separated by spaces; or in columns; - is standard "
                 "input")
      ->type_name("FILE")
      ->required()
      ->check([](const std::string& path) {
        return path == "-" ? std::string() : CLI::ExistingPath(path);
      });
  add_input_format(app, options->input_format, "--input-format");  // --format is the output's
  add_params(app, options->params);
  add_choice(app, "--method", options->method, offered_methods(), method_help())->default_str("");
  add_count(app, "-M,--particles", sampling.particles, 1, "Particles, or the beam's width")
      ->capture_default_str();
  add_choice(app, "--resample", options->resample, strings(trigger_names().subspan(1)),
             resample_help())
      ->default_str("");
  add_choice(app, "--scheme", options->scheme, strings(scheme_names()), "Of resampling");
  check_number(app.add_option("--alpha", sampling.alpha, "Resample if ESS < alpha M")
                   ->capture_default_str()
                   ->type_name("X"),
               "between 0 and 1", [](double x) { return x >= 0 && x <= 1; });
  add_choice(app, "--resample-at", options->resample_at, strings(resample_at_names()),
             "Before y_t is drawn, as its weight does not depend on it; or after");
  add_choice(app, "--draws", options->draws, strings(draws_names()),
             "Of each particle by itself; or evenly spread over q, where nothing is resampled");
  add_choice(app, "--weights", options->weights, strings(weights_names()),
             "Of the taggings found: as the method weighs them, or by exp G_T, which is nearer to "
             "p where few matter, and spoils marginals elsewhere");
  add_choice(app, "--rank-by,--beam-by", options->rank_by, strings(weighs_names()), rank_by_help())
      ->default_str("");
  add_tolerance(app, sampling.tolerance);
  check_number(
      app.add_option("--temperature", sampling.temperature, "Sample from exp(G_T / temperature)")
          ->capture_default_str()
          ->type_name("X"),
      "a number above 0", [](double x) { return x > 0 && x < INFINITY; });
  app.add_flag("--constrain", options->constrained,
               "Where tags stand, a file has the tags allowed there: * or TAG or TAG|TAG");
  CLI::Option* given = app.add_flag("--given", options->retains,
                                    "The tags in the file are a tagging to retain: a sweep of "
                                    "particle Gibbs, which leaves p(y|x) "
                                    "as it is for every M");
  add_count(app, "--sweeps", options->sweeps, 1,
            "Sweeps; what is shown is of the last, which retains a draw of the one before")
      ->capture_default_str()
      ->needs(given);
  add_count(app, "--runs", options->runs, 1, "Independent runs, pooled")->capture_default_str();
  add_count(app, "--top", options->top, 0,
            "Taggings shown of each sequence, 0 for all; a table has 3, jsonl all. viterbi: how "
            "many it finds; 1 unless given");
  add_choice(app, "--format", options->format, {"table", "jsonl"},
             "One JSON object a line, or a table");
  app.add_flag("--marginals", options->with_marginals,
               "p(y_t | x) of every tag, exact or estimated as it says: a table of them instead of "
               "taggings; jsonl: too");
  app.add_flag("--steps", options->with_steps, "jsonl: the record of every step, too");
  app.add_flag("--stats", options->with_stats,
               "Afterwards, on standard error: rows computed, ESS, time");
  check_number(app.add_option("--max-rows", options->max_rows, max_rows_help())->type_name("N"),
               "a whole number above 0", [](double x) { return x >= 1 && x <= 1e9; });
  add_memory(app, sampling.memory);
  add_seed(app, sampling.seed, "Seed of the draws, and of fresh parameters");
  add_count(app, "--threads", sampling.threads, 0, "0 for all cores")->capture_default_str();
  add_count(app, "--batch", sampling.batch, 0, "Sequences run together; 0 to choose")
      ->capture_default_str();
  add_choice(app, "--precision", options->precision, {"float", "double"}, "Of the kernels");
  add_output(app, options->output);
  CLI::Option* report = add_report(app, options->report);
  app.add_option("--report-inputs", options->report_inputs,
                 fmt::format("The sequences whose runs the report shows, by their numbers, such as "
                             "1,5,9; the first {} unless given",
                             SamplePictures::kFirst))
      ->type_name("LIST")
      ->needs(report);
  return [options, &app](const Bundle& bundle) {
    check_method_options(app, options->method);
    return SampleCommand(*options, bundle).run();
  };
}

}  // namespace scry::cli
