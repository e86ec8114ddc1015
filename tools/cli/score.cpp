#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/compile.h"
#include "runtime/files/examples_file.h"
#include "runtime/search/exact.h"
#include "runtime/search/search.h"
#include "runtime/smc/check_score.h"
#include "runtime/train/score_taggings.h"
#include "tools/cli/command.h"
#include "tools/cli/input_format.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/params_option.h"
#include "tools/cli/text.h"

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

/// log Z where it can be had exactly: over finite states, or of few taggings.
class ExactLogZ {
 public:
  ExactLogZ(const Program& program, const Parameters& parameters)
      : program_(program), parameters_(parameters), sampler_(program, parameters) {}

  std::optional<double> of(const Example& example, int64_t number) {
    try {
      if (has_finite_states(program_)) {
        return finite_log_z(program_, parameters_, example.x,
                            {.first_sequence = number, .max_rows = kMaxStates});
      }
      return exact(sampler_, example.x, {.first_sequence = number, .max_rows = kMaxTaggings}).log_z;
    } catch (const SamplingError& error) {
      if (num_unknown_++ == 0) {
        first_ = error.trouble() == Trouble::kTooManyRows && !has_finite_states(program_)
                     ? fmt::format(
                           "it has more than {} taggings, and the model's states are not "
                           "finite; scry sample estimates log Z",
                           kMaxTaggings)
                     : error.message();
        first_line_ = example.line;
      }
      return std::nullopt;
    }
  }
  /// What to say of those that are not known; empty if there are none.
  std::string note() const {
    return num_unknown_ == 0
               ? ""
               : fmt::format("log p(y|x) is not known for {}: of the first, at line {}, {}",
                             count_of(num_unknown_, "tagging"), first_line_, first_);
  }

 private:
  static constexpr int64_t kMaxTaggings = 4096, kMaxStates = int64_t{1} << 20;
  const Program& program_;
  const Parameters& parameters_;
  Sampler sampler_;
  uint64_t num_unknown_ = 0;
  int first_line_ = 0;
  std::string first_;
};

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
  ExactLogZ log_zs(program, parameters);
  const int digits = in_double ? 12 : 5;
  std::string text = program.has_proposal() ? "x\ty\tG_T\tlog_p\tlog_q\n" : "x\ty\tG_T\tlog_p\n";
  for (size_t i = 0; i < examples.size(); ++i) {
    const Example& example = examples[i];
    const TaggingScore score = scorer.score(example.x, example.y);
    check(score, example, options.input);
    const std::optional<double> log_z = log_zs.of(example, static_cast<int64_t>(i));
    text += fmt::format("{}\t{}\t{:.{}f}", example.symbols, example.tags, score.log_score, digits);
    // But for rounding, it is never above 0.
    text += log_z ? fmt::format("\t{:.{}f}", std::min(0.0, score.log_score - *log_z), digits)
                  : "\tunknown";
    if (program.has_proposal()) text += fmt::format("\t{:.{}f}", score.log_proposal, digits);
    text += '\n';
  }
  write_result(options.output, text);
  if (const std::string note = log_zs.note(); !note.empty()) tell(note);
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
