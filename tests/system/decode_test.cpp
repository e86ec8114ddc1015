// Decisions on compiled models against brute force over all their taggings.
#include <scry.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/support/lessons.h"
#include "tests/support/replay.h"
#include "tests/support/taggings.h"

using namespace scry;
using namespace scry::test;

namespace {

double own_loss(std::span<const int32_t> decided, std::span<const int32_t> truth) {
  double total = 0;
  for (size_t t = 0; t < truth.size(); ++t)
    total += decided[t] == truth[t] ? 0 : 1 + static_cast<double>(t) / 2;
  return total;
}

/// The least risk of any tagging, by scores that are computed one by one.
double least_risk(const Program& program, Parameters& parameters, const std::vector<int>& x,
                  const Loss& loss, double temperature) {
  Replay replay(program, parameters);
  const auto taggings = all_taggings(program.task, static_cast<int>(x.size()));
  std::vector<double> weights;
  double total = 0, least = INFINITY;
  for (const std::vector<int>& y : taggings)
    total += weights.emplace_back(std::exp(replay.run(x, y).log_score / temperature));
  for (const std::vector<int>& z : taggings) {
    double risk = 0;
    for (size_t i = 0; i < taggings.size(); ++i) risk += weights[i] / total * loss(z, taggings[i]);
    least = std::min(least, risk);
  }
  return least;
}

}  // namespace

TEST_CASE("decisions on compiled models have the least risk of all taggings, for every loss") {
  struct Case {
    Bundle bundle;
    int length;
    bool has_spans, is_finite;
  };
  const std::vector<Case> cases{{lesson_01(), 5, false, true},    // an HMM
                                {lesson_04(), 4, true, false},    // B, I and O, neural
                                {lesson_05(), 4, false, false}};  // with EOS
  for (const Case& each : cases) {
    const Program program = compile(
        each.bundle, {.precision = Precision::kDouble, .gradients = false, .use_cache = false});
    Parameters parameters = Parameters::fresh(program, 3);
    const std::vector<int> x = random_input(program.task, each.length, 4);
    for (const double temperature : {1.0, 0.3}) {
      SampleOptions options;
      options.temperature = temperature;
      const Ensemble all = exact(program, parameters, x, options);
      for (const LossKind kind : {LossKind::kHamming, LossKind::kWhole, LossKind::kSpans,
                                  LossKind::kEdit, LossKind::kOwn}) {
        if (kind == LossKind::kSpans && !each.has_spans) continue;
        const Decider decider(kind, program.task, own_loss);
        const double least = least_risk(program, parameters, x,
                                        make_loss(kind, program.task, own_loss), temperature);
        const Decision decision =
            decider.decide(all, {.num_taggings = count_taggings(x, program.task)});
        CAPTURE(static_cast<int>(kind), each.length, temperature);
        CHECK(decision.expected_loss == Approx(least).epsilon(1e-9).margin(1e-12));
        CHECK(decision.is_over_all);
        CHECK(decision.status == RiskStatus::kExact);
        CHECK(decision.tags.size() == x.size());
        if (!each.is_finite || !decider.is_decomposable()) continue;
        const Decision by_states = decider.decide_exactly(program, parameters, x, options);
        CHECK(by_states.tags == decision.tags);
        CHECK(by_states.expected_loss == Approx(least).epsilon(1e-9).margin(1e-12));
      }
    }
  }
}

TEST_CASE("rescoring an enumeration by another model gives that model's posterior") {
  const Program program = compile(
      lesson_04(), {.precision = Precision::kDouble, .gradients = false, .use_cache = false});
  const Parameters one = Parameters::fresh(program, 3), two = Parameters::fresh(program, 4);
  const std::vector<int> x = random_input(program.task, 4, 4);
  const Ensemble first = exact(program, one, x), second = exact(program, two, x);
  TaggingScorer scorer(program, two);
  std::vector<double> log_scores;
  for (size_t i = 0; i < first.size(); ++i)
    log_scores.push_back(scorer.score(x, first.sequence(i)).log_score);
  const Rescored replaced =
      rescore(first, log_scores, {.num_taggings = count_taggings(x, program.task)});
  CHECK(replaced.ensemble.log_z == Approx(second.log_z).epsilon(1e-10));
  CHECK(replaced.ensemble.certainty == Certainty::kExact);
  CHECK(replaced.ensemble.tags == second.tags);
  for (size_t i = 0; i < second.size(); ++i)
    CHECK(replaced.ensemble.probability(i) == Approx(second.probability(i)).epsilon(1e-9));
}
