#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

#include "base/write_file.h"
#include "compiler/compile.h"
#include "runtime/eval/experiment.h"
#include "runtime/files/examples_file.h"
#include "tools/cli/command.h"
#include "tools/cli/eval_report.h"
#include "tools/cli/input_format.h"
#include "tools/cli/method_options.h"
#include "tools/cli/nearest.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/params_option.h"
#include "tools/cli/progress_bar.h"
#include "tools/cli/report_eval.h"

namespace scry::cli {
namespace {

struct EvalOptions {
  std::string params, input, output, csv, report, methods, particles = "8,32,128";
  std::string format = "table", precision = "float";
  std::string scheme = name_of(scheme_names(), SampleOptions().resampling);
  std::string resample_at = name_of(resample_at_names(), SampleOptions().resample_at);
  InputFormatOption input_format;
  Experiment experiment;
  int limit = 0, max_taggings = 1 << 16, max_states = 1 << 20;
  bool constrained = false;
};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    std::string word = list.substr(at, end - at);
    while (word.starts_with(' ')) word.erase(0, 1);
    while (word.ends_with(' ')) word.pop_back();
    words.push_back(std::move(word));
    at = end + 1;
  }
  return words;
}

std::vector<Configuration> parse_configurations(const std::string& list) {
  std::vector<Configuration> chosen;
  std::vector<std::string> names;
  for (const Configuration& known : known_configurations()) names.push_back(known.name);
  for (const std::string& word : words_of(list)) {
    const std::optional<Configuration> found = find_configuration(word);
    if (!found) {
      std::vector<std::string> all = names;
      for (const std::string& method : offered_methods()) {
        const bool is_new = std::ranges::find(names, method) == names.end();
        if (is_new && find_configuration(method)) all.push_back(method);
      }
      const std::string meant = nearest(word, all);
      throw UsageError(fmt::format("--methods: there is no '{}'{}; there are {}", word,
                                   meant.empty() ? "" : fmt::format(", did you mean {}?", meant),
                                   fmt::join(names, ", ")));
    }
    const bool again =
        std::ranges::any_of(chosen, [&](const Configuration& c) { return c.name == found->name; });
    if (again) throw UsageError(fmt::format("--methods: {} is there twice", found->name));
    chosen.push_back(*found);
  }
  return chosen;
}

std::vector<int> parse_particles(const std::string& list) {
  std::vector<int> particles;
  for (const std::string& word : words_of(list)) {
    int value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < 1 ||
        value > 1'000'000'000)
      throw UsageError(
          fmt::format("--particles: '{}' is not a list of whole numbers such as 8,32,128", list));
    if (std::ranges::find(particles, value) != particles.end())
      throw UsageError(fmt::format("--particles: {} is there twice", value));
    particles.push_back(value);
  }
  return particles;
}

std::string methods_help() {
  std::vector<std::string> by_default;
  for (const Configuration& c : default_configurations(true)) by_default.push_back(c.name);
  std::string help = fmt::format("What to compare, separated by commas; unless given, {}:",
                                 fmt::join(by_default, ","));
  for (const Configuration& known : known_configurations())
    help += fmt::format("\n{:19} {}", known.name, known.summary);
  help += fmt::format("\n{:19} {}", "NAME+score", "its taggings, weighted by exp G_T");
  return help + "\nThe name of a --method of sample, such as filter, is what that does by default.";
}

/// The lines that can be evaluated; tells of the others.
std::vector<InputLine> read_lines(const EvalOptions& options, const Task& task, size_t& num_bad) {
  InputReader reader(options.input, task, options.constrained, options.input_format.format());
  std::vector<InputLine> lines;
  reader.fill(lines, options.limit > 0 ? static_cast<size_t>(options.limit) : SIZE_MAX);
  const std::string name = options.input == "-" ? "standard input" : options.input;
  num_bad = std::erase_if(lines, [&](const InputLine& line) {
    if (!line.error.empty()) tell(fmt::format("{}:{}: {}", name, line.line, line.error));
    return !line.error.empty();
  });
  if (lines.empty()) throw DataError(fmt::format("{}: no sequence in it can be evaluated", name));
  return lines;
}

int run_eval(EvalOptions options, const Bundle& bundle) {
  Experiment& experiment = options.experiment;
  if (!options.methods.empty()) experiment.configurations = parse_configurations(options.methods);
  experiment.particles = parse_particles(options.particles);
  if (!options.report.empty()) {
    check_writable(options.report);
    experiment.calibration_points = 2000;
  }
  experiment.max_taggings = options.max_taggings;
  experiment.max_states = options.max_states;
  experiment.sampling.resampling = named<Resampling>(scheme_names(), options.scheme);
  experiment.sampling.resample_at = named<ResampleAt>(resample_at_names(), options.resample_at);
  const Program program = compile(
      bundle, {.precision = options.precision == "double" ? Precision::kDouble : Precision::kFloat,
               .gradients = false});
  for (const Configuration& c : experiment.configurations) {
    if (row_of(c.method).needs_lookahead() && !program.has_proposal())
      throw UsageError(
          fmt::format("--methods: {} needs a lookahead, and the model has no proposal", c.name));
  }
  const Parameters parameters = parameters_of(program, options.params, experiment.sampling.seed);
  size_t num_bad = 0;
  const std::vector<InputLine> lines = read_lines(options, program.task, num_bad);
  tell_of_random(program, options.params, experiment.sampling.seed);
  std::vector<SampleInput> inputs;
  for (const InputLine& line : lines) inputs.emplace_back(line.x, line.allowed);
  ProgressBar bar("inputs");
  experiment.progress = [&](double part) {
    bar.show({.done = static_cast<size_t>(part * static_cast<double>(inputs.size())),
              .total = inputs.size(),
              .part = part});
  };
  const EvalTable table = evaluate(program, parameters, inputs, experiment);
  bar.clear();
  if (!options.csv.empty()) write_result(options.csv, to_csv(table));
  const Style style = options.output.empty() ? Style::for_stdout() : Style(false);
  write_result(options.output, options.format == "json"       ? to_json(table) + "\n"
                               : options.format == "csv"      ? to_csv(table)
                               : options.format == "markdown" ? format_eval_markdown(table)
                                                              : format_eval(table, style));
  if (!options.report.empty())
    write_file(options.report,
               to_html(eval_report(
                   table, {{"inputs", options.input},
                           {"parameters", options.params.empty() ? "random" : options.params}})));
  const std::string name = options.input == "-" ? "standard input" : options.input;
  for (const LeftOut& each : table.left_out)
    tell(fmt::format("{}:{}: left out: {}", name, lines[each.input].line, each.message));
  return num_bad == 0 && table.left_out.empty() ? 0 : 1;
}

}  // namespace

Action declare_eval(CLI::App& app) {
  auto options = std::make_shared<EvalOptions>();
  SampleOptions& sampling = options->experiment.sampling;
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
  add_count(app, "--limit", options->limit, 1, "Only the first N sequences");
  app.add_option("--methods", options->methods, methods_help())->type_name("LIST");
  app.add_option("-M,--particles", options->particles,
                 "Particles, or a beam's width, separated by commas")
      ->capture_default_str()
      ->type_name("LIST");
  add_count(app, "--runs", options->experiment.runs, 1, "Independent runs of what draws")
      ->capture_default_str();
  add_choice(app, "--format", options->format, {"table", "markdown", "csv", "json"},
             "A table for people, on a terminal or a page, or numbers with all their digits");
  app.add_option("--csv", options->csv, "Write the table as CSV here, too")->type_name("FILE");
  add_choice(app, "--scheme", options->scheme, {scheme_names().begin(), scheme_names().end()},
             "Of resampling");
  add_choice(app, "--resample-at", options->resample_at,
             {resample_at_names().begin(), resample_at_names().end()},
             "Before y_t is drawn, as its weight does not depend on it; or after");
  add_number(
      app, "--alpha", sampling.alpha, "between 0 and 1", [](double x) { return x >= 0 && x <= 1; },
      "Resample if ESS < alpha M");
  add_tolerance(app, sampling.tolerance);
  add_number(
      app, "--temperature", sampling.temperature, "a number above 0",
      [](double x) { return x > 0 && x < INFINITY; }, "Sample from exp(G_T / temperature)");
  app.add_flag("--constrain", options->constrained,
               "Where tags stand, a file has the tags allowed there: * or TAG or TAG|TAG");
  check_number(app.add_option("--max-rows", options->max_taggings,
                              "Taggings enumerated for an exact reference, at most; 0 for none")
                   ->capture_default_str()
                   ->type_name("N"),
               "a whole number up to 2^28",
               [](double x) { return x >= 0 && x <= 1 << 28 && x == std::floor(x); });
  add_count(app, "--max-states", options->max_states, 0,
            "Likewise, states of models whose states are finite; 0 for none")
      ->capture_default_str();
  add_count(app, "--reference", options->experiment.reference_particles, 1,
            "Prefixes of the large set that is the reference elsewhere")
      ->capture_default_str();
  add_memory(app, sampling.memory);
  add_seed(app, sampling.seed, "Seed of the draws, and of fresh parameters");
  add_count(app, "--threads", sampling.threads, 0, "0 for all cores; 1 to compare times")
      ->capture_default_str();
  add_count(app, "--batch", sampling.batch, 0, "Sequences run together; 0 to choose")
      ->capture_default_str();
  add_choice(app, "--precision", options->precision, {"float", "double"}, "Of the kernels");
  add_output(app, options->output);
  add_report(app, options->report);
  return [options](const Bundle& bundle) { return run_eval(*options, bundle); };
}

}  // namespace scry::cli
