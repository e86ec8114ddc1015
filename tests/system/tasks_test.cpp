// The paper's source separation (examples/tasks): one language model, alone and J times over.
#include "examples/tasks/mixture.h"
#include "runtime/files/examples_file.h"
#include "runtime/train/score_taggings.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

using namespace scry;

namespace {

Bundle make(const std::string& vocab, int num_strings, bool alone) {
  Settings settings;
  settings.set("vocab", vocab).set("J", std::to_string(num_strings)).set("d", "4").set("e", "3");
  settings.set("alone", alone ? "1" : "0");
  return tasks::make_mixture(settings, 5, 32);
}

/// log p of a string under the language model, its end included.
double log_probability(const Program& alone, const Parameters& parameters,
                       const std::vector<int>& string) {
  const std::vector<int> tags(string.size(), 0);
  return TaggingScorer(alone, parameters).score(string, tags).log_score;
}

double log_add(double a, double b) {
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

}  // namespace

TEST_CASE("a language model of single strings is the model of mixtures, by its parameters") {
  const test::TempFolder folder;
  const std::string vocab = folder.write("v.txt", "a\nb\nc\n");
  const std::string file = folder.file("lm.safetensors");
  const int num_strings = GENERATE(2, 3);
  const Program alone = compile(make(vocab, num_strings, true), {.precision = Precision::kDouble});
  std::vector<Example> train;
  for (const std::vector<int>& x : std::vector<std::vector<int>>{{0, 1, 2}, {0, 1}, {2, 2, 0}})
    train.push_back({x, std::vector<int>(x.size(), 0), "", "", 1});
  const Parameters fresh = Parameters::fresh(alone, 1);
  const TrainResult fitted =
      fit(alone, fresh, train, {}, {.epochs = 20, .batch = 2, .adam = {.rate = 0.05}});
  CHECK(log_probability(alone, fitted.parameters, train[0].x) >
        log_probability(alone, fresh, train[0].x) + 1);
  write_parameters(file, alone, fitted.parameters);

  const Program mixture =
      compile(make(vocab, num_strings, false), {.precision = Precision::kDouble});
  const ModelAndProposal loaded = read_model_parameters(file, mixture, 1);
  CHECK(loaded.proposal_is_fresh);
  const std::vector<int> x{0, 2, 1, 2, 3};  // the last is unknown
  double log_z = -std::numeric_limits<double>::infinity();
  const auto num_assignments = static_cast<int>(std::pow(num_strings, x.size()));
  for (int assignment = 0; assignment < num_assignments; ++assignment) {
    std::vector<std::vector<int>> strings(static_cast<size_t>(num_strings));
    for (int t = 0, rest = assignment; t < static_cast<int>(x.size()); ++t, rest /= num_strings)
      strings[static_cast<size_t>(rest % num_strings)].push_back(x[static_cast<size_t>(t)]);
    double log_p = 0;
    for (const std::vector<int>& string : strings)
      log_p += log_probability(alone, fitted.parameters, string);
    log_z = log_add(log_z, log_p);
  }
  const Ensemble ensemble = exact(mixture, loaded.parameters, x);
  CHECK(ensemble.size() == static_cast<size_t>(num_assignments));
  CHECK(ensemble.log_z == Approx(log_z).epsilon(1e-10));
}
