#include <fmt/format.h>

#include "compiler/compile.h"
#include "runtime/files/examples_file.h"
#include "runtime/smc/check_score.h"
#include "runtime/train/score_taggings.h"
#include "tools/cli/command.h"
#include "tools/cli/input_format.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/params_option.h"

namespace scry::cli {
namespace {

struct ScoreOptions {
  std::string input, params, precision = "float", output;
  InputFormatOption input_format;
  uint64_t seed = 1;
};

/// Scores may be -∞; a number that is none comes of the model or its parameters.
void check(const TaggingScore& score, const Example& example, const std::string& input) {
  const bool is_model = !is_score(score.log_score);
  if (!is_model && is_score(score.log_proposal)) return;
  throw DataError(fmt::format(
      "{}:{}: {} is {}: look at the model and its parameters, or try --precision double",
      input == "-" ? "standard input" : input, example.line,
      is_model ? "the model's score G_T" : "the proposal's log q",
      is_model ? score.log_score : score.log_proposal));
}

int run_score(const ScoreOptions& options, const Bundle& bundle) {
  FileFormat format = options.input_format.format();
  format.may_be_ensembles = true;
  const std::vector<Example> examples = read_examples(options.input, bundle.model->task(), format);
  const bool in_double = options.precision == "double";
  const Program program = compile(
      bundle,
      {.precision = in_double ? Precision::kDouble : Precision::kFloat, .gradients = false});
  const Parameters parameters = parameters_of(program, options.params, options.seed);
  tell_of_random(program, options.params, options.seed);
  TaggingScorer scorer(program, parameters);
  const int digits = in_double ? 12 : 5;
  std::string text = program.has_proposal() ? "x\ty\tG_T\tlog_q\n" : "x\ty\tG_T\n";
  for (const Example& example : examples) {
    const TaggingScore score = scorer.score(example.x, example.y);
    check(score, example, options.input);
    text += fmt::format("{}\t{}\t{:.{}f}", example.symbols, example.tags, score.log_score, digits);
    if (program.has_proposal()) text += fmt::format("\t{:.{}f}", score.log_proposal, digits);
    text += '\n';
  }
  write_result(options.output, text);
  return 0;
}

}  // namespace

Action declare_score(CLI::App& app) {
  auto options = std::make_shared<ScoreOptions>();
  app.add_option(
         "--input", options->input,
         "Taggings, one a line: symbols, a tab, and as many tags; or in columns; or ensembles, "
         "as scry sample --format jsonl writes them; - is standard input")
      ->type_name("FILE")
      ->required()
      ->check([](const std::string& path) {
        return path == "-" ? std::string() : CLI::ExistingPath(path);
      });
  add_input_format(app, options->input_format, "--input-format,--format", true);
  CLI::Option* seed = add_seed(app, options->seed, "Seed of fresh parameters");
  add_params(app, options->params)->excludes(seed);
  add_choice(app, "--precision", options->precision, {"float", "double"}, "Of the kernels");
  add_output(app, options->output);
  return [options](const Bundle& bundle) { return run_score(*options, bundle); };
}

}  // namespace scry::cli
