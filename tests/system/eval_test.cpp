// Methods compared on whole models, against exact answers.
#include <scry.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/catch.h"
#include "tests/support/exact_divergences.h"
#include "tests/support/lessons.h"
#include "tests/support/small_models.h"
#include "tests/support/taggings.h"

using namespace scry;
using namespace scry::test;

namespace {

std::vector<Configuration> named(std::initializer_list<const char*> names) {
  std::vector<Configuration> configurations;
  for (const char* name : names) configurations.push_back(find_configuration(name).value());
  return configurations;
}

struct Inputs {
  std::vector<std::vector<int>> xs;
  std::vector<SampleInput> all;
  Inputs(const Task& task, std::initializer_list<int> lengths) {
    for (int length : lengths) xs.push_back(random_input(task, length, 21));
    all.assign(xs.begin(), xs.end());
  }
};

/// The mean over 0 < t < T of the variance of C_t − H_t over posterior prefixes, from taggings that
/// are scored one at a time.
double calibration_variance(const Program& program, const Parameters& parameters,
                            const std::vector<int>& x) {
  struct Prefix {
    double log_score = 0, compat = 0, total = 0;  // G_t; C_t; Σ exp G_T over those that go on so
  };
  std::map<std::vector<int>, Prefix> prefixes;
  double z = 0;
  int num_steps = 0;
  TaggingScorer scorer(program, parameters);
  for (const std::vector<int>& tagging : all_taggings(program.task, static_cast<int>(x.size()))) {
    const double weight = std::exp(scorer.score(x, tagging).log_score);
    if (weight == 0) continue;
    z += weight;
    std::vector<int> y = tagging;
    if (program.task.has_eos()) y.push_back(*program.task.y.eos());
    num_steps = static_cast<int>(y.size());
    double log_score = 0;
    for (int t = 1; t < num_steps; ++t) {
      const int64_t cell = int64_t{scorer.batch().position(t, 0)} * program.num_tags() +
                           y[static_cast<size_t>(t - 1)];
      log_score += scorer.recording().scores.get(cell);
      Prefix& prefix = prefixes[{y.begin(), y.begin() + t}];
      prefix.log_score = log_score;
      prefix.compat = scorer.recording().compats.get(cell);
      prefix.total += weight;
    }
  }
  std::map<size_t, std::array<double, 2>> moments;  // by t
  for (const auto& [y, prefix] : prefixes) {
    const double d = prefix.compat - (std::log(prefix.total) - prefix.log_score);
    moments[y.size()][0] += prefix.total / z * d;
    moments[y.size()][1] += prefix.total / z * d * d;
  }
  double mean = 0;
  for (const auto& [t, moment] : moments)
    mean += (moment[1] - moment[0] * moment[0]) / (num_steps - 1);
  return mean;
}

}  // namespace

TEST_CASE("eval finds exact lookaheads calibrated, and smoothing by them without spread") {
  for (const Bundle& bundle : {lesson_01(), lesson_02()}) {
    for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
      const Program program = compile(bundle, {.precision = precision, .gradients = false});
      const Parameters parameters = Parameters::fresh(program, 5);
      const Inputs inputs(program.task, {1, 4, 7});
      const EvalTable table =
          evaluate(program, parameters, inputs.all,
                   {.configurations = named({"PF", "PS", "PS:R", "PS:A", "discrete+lookahead"}),
                    .particles = {1, 8},
                    .runs = 3});
      const double tolerance = precision == Precision::kDouble ? 1e-9 : 1e-4;
      CHECK(table.lookahead.deviation.value <= tolerance);
      CHECK(table.lookahead.blind_deviation.value > 10 * tolerance);
      for (const EvalRow& row : table.rows) {
        INFO(row.configuration.name << ", M = " << row.particles);
        const bool is_blind = row.configuration.name == "PF";
        CHECK((row[Measure::kDeviation].value <= tolerance) == !is_blind);
        CHECK((row[Measure::kRmse].value <= tolerance) == !is_blind);
      }
    }
  }
}

TEST_CASE("eval's calibration and KL(q‖p) are those of enumerated neural models") {
  const Bundle tagger{std::make_shared<SmallTagger>(), std::make_shared<SmallLookahead>()};
  for (const Bundle& bundle : {tagger, lesson_03(), lesson_04(), lesson_05()}) {
    const Program program = compile(bundle, {.precision = Precision::kDouble, .gradients = false});
    Parameters parameters = Parameters::fresh(program, 3);
    Random random(3, 5);
    for (int64_t k = 0; k < parameters.values.size(); ++k)
      parameters.values.set(k, parameters.values.get(k) + 0.3 * random.normal());
    parameters.prepare(program);
    const std::vector<int> x = random_input(program.task, 4, 21);
    const EvalTable table = evaluate(
        program, parameters, std::vector<SampleInput>{x},
        {.configurations = named({"PS", "PF:R", "discrete", "discrete+lookahead", "exact"}),
         .particles = {4},
         .runs = 3'000});
    CHECK(table.num_enumerated == 1);
    CHECK(std::pow(table.lookahead.deviation.value, 2) ==
          Approx(calibration_variance(program, parameters, x)).epsilon(1e-6));
    for (const EvalRow& row : table.rows) {
      INFO(row.configuration.name);
      if (row.configuration.method == Method::kExact) continue;
      const Estimate& ratio = row[Measure::kRatio];
      CHECK(std::abs(ratio.value - 1) < 4 * ratio.error);
    }
    if (program.task.has_eos()) continue;  // which the oracle below knows nothing of
    const ExactDivergences exact = exact_divergences(program, parameters, x);
    const Estimate& proposal = table.rows[0][Measure::kProposalKl];
    CHECK(std::abs(proposal.value - to_bits(exact.exclusive)) < 4 * proposal.error + 1e-9);
  }
}
