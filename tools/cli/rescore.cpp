#include "runtime/smc/rescore.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "compiler/compile.h"
#include "runtime/search/exact.h"
#include "runtime/smc/check_score.h"
#include "runtime/train/score_taggings.h"
#include "tools/cli/command.h"
#include "tools/cli/method_options.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/params_option.h"
#include "tools/cli/sample_report.h"

namespace scry::cli {
namespace {

constexpr size_t kPart = 64;  // ensembles held in memory at a time, at most

struct RescoreCommandOptions {
  std::string input, params, output, precision = "float", format = "jsonl";
  std::string combine = name_of(combine_names(), RescoreOptions().combine);
  RescoreOptions rescoring;
  int threads = 0;
  uint64_t seed = 1;
};

class RescoreCommand {
 public:
  RescoreCommand(const RescoreCommandOptions& options, const Bundle& bundle)
      : options_(options),
        program_(compile(bundle, {.precision = options.precision == "double" ? Precision::kDouble
                                                                             : Precision::kFloat,
                                  .gradients = false})),
        parameters_(parameters_of(program_, options.params, options.seed)),
        workers_(options.threads),
        scorers_(static_cast<size_t>(workers_.size())) {}

  int run() {
    const bool as_table = options_.format == "table";
    const auto wait = as_table ? InputReader::Wait::kForAll : InputReader::Wait::kForSome;
    FileFormat format;
    format.layout = FileLayout::kEnsembles;
    InputReader reader(options_.input, program_.task, GivenTags::kPassedOver, format);
    std::vector<InputLine> lines;
    reader.fill(lines, kPart, wait);
    tell_of_random(program_, options_.params, options_.seed);
    const Style style = options_.output.empty() ? Style::for_stdout() : Style(false);
    ResultStream output(options_.output);
    TextTable::Layout layout;
    size_t num_errors = 0;
    while (!lines.empty()) {
      std::vector<SampleResult> results(lines.size());
      std::vector<double> overlaps(lines.size());
      workers_.for_each(static_cast<int64_t>(lines.size()), [&](int worker, int64_t at) {
        const auto i = static_cast<size_t>(at);
        results[i].line = &lines[i];
        rescore_line(worker, lines[i], results[i], overlaps[i]);
      });
      std::string text;
      if (as_table) text = result_table(results, program_.task, 3, style, layout);
      for (size_t i = 0; i < results.size(); ++i) {
        if (!as_table) text += rescored_json(results[i], overlaps[i]);
        if (results[i].error.empty()) continue;
        ++num_errors;
        tell(fmt::format("{}:{}: {}", options_.input == "-" ? "standard input" : options_.input,
                         lines[i].line, results[i].error));
      }
      output.write(text);
      lines.clear();
      reader.fill(lines, kPart, wait);
    }
    output.finish();
    return num_errors == 0 ? 0 : 1;
  }

 private:
  void rescore_line(int worker, const InputLine& line, SampleResult& result, double& overlap) {
    result.error = line.error;
    if (!line.ensemble) return;
    std::optional<TaggingScorer>& scorer = scorers_[static_cast<size_t>(worker)];
    if (!scorer) scorer.emplace(program_, parameters_);
    std::vector<double> log_scores;
    try {
      for (size_t i = 0; i < line.ensemble->size(); ++i) {
        log_scores.push_back(scorer->score(line.x, line.ensemble->sequence(i)).log_score);
        if (is_score(log_scores.back())) continue;
        throw Error(
            fmt::format("the model's score G_T is {}: look at the model and its "
                        "parameters, or try --precision double",
                        log_scores.back()));
      }
      RescoreOptions rescoring = options_.rescoring;
      rescoring.num_taggings = count_taggings(SampleInput(line.x), program_.task);
      Rescored rescored = rescore(*line.ensemble, log_scores, rescoring);
      result.sequence = rescored.ensemble.info.sequence;
      result.ensemble = std::move(rescored.ensemble);
      overlap = rescored.overlap;
    } catch (const Error& error) {
      result.error = error.what();
    }
  }

  /// As scry sample writes it, with how it was rescored before.
  std::string rescored_json(const SampleResult& result, double overlap) const {
    const char* parameters = program_.params.empty()   ? "none"
                             : options_.params.empty() ? "random"
                                                       : "file";
    const bool has_steps = result.ensemble && !result.ensemble->steps.empty();
    const std::string text =
        result_json(result, program_.task, "", parameters, SIZE_MAX, has_steps, false);
    const bool is_product = options_.rescoring.combine == Combine::kProduct;
    const Json how{{"combine", options_.combine},
                   {"alpha", is_product ? Json(options_.rescoring.alpha) : Json()},
                   {"overlap", result.ensemble ? Json(overlap) : Json()}};
    return dump(how).substr(0, dump(how).size() - 1) + "," + text.substr(1);
  }

  RescoreCommandOptions options_;
  Program program_;
  Parameters parameters_;
  Workers workers_;
  std::vector<std::optional<TaggingScorer>> scorers_;  // by worker
};

}  // namespace

Action declare_rescore(CLI::App& app) {
  auto options = std::make_shared<RescoreCommandOptions>();
  app.add_option("--input", options->input,
                 "Ensembles of another model, as scry sample --format jsonl writes them; - is "
                 "standard input")
      ->type_name("FILE")
      ->required()
      ->check([](const std::string& path) {
        return path == "-" ? std::string() : CLI::ExistingPath(path);
      });
  CLI::Option* seed = add_seed(app, options->seed, "Seed of fresh parameters");
  add_params(app, options->params)->excludes(seed);
  add_choice(app, "--combine", options->combine, {combine_names().begin(), combine_names().end()},
             "Weigh by this model's G instead of the other's, or by both: G + alpha G'");
  CLI::Option* alpha = add_number(
      app, "--alpha", options->rescoring.alpha, "a number above 0",
      [](double x) { return x > 0 && x < INFINITY; }, "product: of this model's score");
  add_choice(app, "--format", options->format, {"jsonl", "table"},
             "One JSON object a line, or a table");
  add_count(app, "--threads", options->threads, 0, "0 for all cores")->capture_default_str();
  add_choice(app, "--precision", options->precision, {"float", "double"}, "Of the kernels");
  add_output(app, options->output);
  return [options, alpha](const Bundle& bundle) {
    options->rescoring.combine = named<Combine>(combine_names(), options->combine);
    if (alpha->count() > 0 && options->rescoring.combine == Combine::kReplace)
      throw UsageError("--alpha has no use with --combine replace: it is for product");
    return RescoreCommand(*options, bundle).run();
  };
}

}  // namespace scry::cli
