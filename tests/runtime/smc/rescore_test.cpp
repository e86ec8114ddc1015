#include "runtime/smc/rescore.h"

#include <cmath>

#include "runtime/search/exact.h"
#include "runtime/search/search.h"
#include "runtime/smc/sample.h"
#include "tests/catch.h"
#include "tests/support/hand_hmm.h"
#include "tests/support/hand_posterior.h"

using namespace scry;
using namespace scry::test;

namespace {

/// The score of a second model: a function of the tagging.
double second_score(std::span<const int32_t> tags) {
  double score = 0;
  for (size_t t = 0; t < tags.size(); ++t)
    score += (tags[t] == 1 ? 0.7 : -0.2) + (t > 0 && tags[t] == tags[t - 1] ? 0.4 : 0);
  return score;
}
std::vector<double> second_scores(const Ensemble& ensemble) {
  std::vector<double> scores;
  for (size_t i = 0; i < ensemble.size(); ++i) scores.push_back(second_score(ensemble.sequence(i)));
  return scores;
}
double second_log_z(int num_tags, int length) {
  std::vector<double> terms;
  for (const std::vector<int>& y : all_taggings(num_tags, length)) terms.push_back(second_score(y));
  return log_sum_exp(terms);
}

struct Hmm {
  Program program = hand_hmm();
  Parameters parameters = Parameters::fresh(program, 5);
};
const std::vector<int> kX{2, 0, 1, 1, 2, 0};
const double kLogZ = second_log_z(kHmmTags, 6);

/// A second model that is near to the first.
std::vector<double> near_scores(const Ensemble& ensemble) {
  std::vector<double> scores;
  for (size_t i = 0; i < ensemble.size(); ++i)
    scores.push_back(0.8 * ensemble.log_scores[i] + 0.2 * second_score(ensemble.sequence(i)));
  return scores;
}

}  // namespace

TEST_CASE("all of p rescored is all of the other model's, or of their product") {
  const Ensemble all = random_posterior(3, 4, 2);
  const Rescored replaced = rescore(all, second_scores(all), {.num_taggings = 81});
  CHECK(replaced.ensemble.log_z == Approx(second_log_z(3, 4)).epsilon(1e-12));
  CHECK(replaced.ensemble.certainty == Certainty::kExact);
  CHECK(replaced.ensemble.is_whole_posterior());
  for (size_t i = 0; i < 81; ++i) {
    CHECK(replaced.ensemble.log_scores[i] == second_score(replaced.ensemble.sequence(i)));
    CHECK(replaced.ensemble.log_weights[i] == Approx(replaced.ensemble.log_scores[i]));
  }
  const Rescored product =
      rescore(all, second_scores(all), {.combine = Combine::kProduct, .alpha = 0.5});
  std::vector<double> terms;
  for (size_t i = 0; i < all.size(); ++i)
    terms.push_back(all.log_scores[i] + 0.5 * second_score(all.sequence(i)));
  CHECK(product.ensemble.log_z == Approx(log_sum_exp(terms)).epsilon(1e-12));
  CHECK(product.ensemble.certainty == Certainty::kExact);
  CHECK(product.ensemble.is_whole_posterior());
}

TEST_CASE("a temperature is that of the new scores, too") {
  Hmm hmm;
  SampleOptions options;
  options.temperature = 2;
  const Ensemble all = exact(hmm.program, hmm.parameters, kX, options);
  std::vector<double> terms;
  for (const std::vector<int>& y : all_taggings(kHmmTags, 6)) terms.push_back(second_score(y) / 2);
  const Rescored replaced = rescore(all, second_scores(all), {.num_taggings = 64});
  CHECK(replaced.ensemble.log_z == Approx(log_sum_exp(terms)).epsilon(1e-9));
  CHECK(replaced.ensemble.is_whole_posterior());
}

TEST_CASE("what the first model forbids is missing: then the sum is a lower bound") {
  Ensemble some = random_posterior(3, 3, 2);
  for (auto* list : {&some.log_weights, &some.log_scores}) list->resize(20);
  some.tags.resize(20 * 3);
  some.log_z = log_sum_exp(some.log_weights);
  const Rescored replaced = rescore(some, second_scores(some), {.num_taggings = 27});
  CHECK(replaced.ensemble.certainty == Certainty::kLowerBound);
  CHECK(replaced.ensemble.log_z < second_log_z(3, 3));
  // What it forbids the product forbids as well.
  CHECK(rescore(some, second_scores(some), {.combine = Combine::kProduct}).ensemble.certainty ==
        Certainty::kExact);
}

TEST_CASE("a beam rescored stays a lower bound") {
  Hmm hmm;
  for (int width : {1, 5, 30}) {
    const Ensemble kept = beam(hmm.program, hmm.parameters, kX, {.particles = width});
    const Rescored replaced = rescore(kept, second_scores(kept), {.num_taggings = 64});
    CHECK(replaced.ensemble.certainty == Certainty::kLowerBound);
    CHECK(replaced.ensemble.log_z <= kLogZ);
    CHECK(!replaced.ensemble.log_z_error);
  }
}

TEST_CASE("the rescored log Z is without bias, and its bar holds it where draws were independent") {
  Hmm hmm;
  constexpr int kRuns = 400;
  const double log_z = log_sum_exp(near_scores(exact(hmm.program, hmm.parameters, kX)));
  for (const Method method :
       {Method::kExact, Method::kImportance, Method::kFilter, Method::kDiscreteAhead}) {
    double sum = 0, squares = 0;
    int num_held = 0, num_bars = 0;
    for (uint64_t seed = 1; seed <= kRuns; ++seed) {
      SampleOptions options{.method = method, .particles = 32};
      options.seed = seed;
      const Ensemble drawn = method == Method::kExact
                                 ? sample_finite(hmm.program, hmm.parameters, kX, options)
                                 : sample(hmm.program, hmm.parameters, kX, options);
      const Rescored replaced = rescore(drawn, near_scores(drawn));
      const double ratio = std::exp(replaced.ensemble.log_z - log_z);
      sum += ratio;
      squares += ratio * ratio;
      CHECK(replaced.ensemble.log_z == Approx(log_sum_exp(replaced.ensemble.log_weights)));
      CHECK(replaced.overlap > 0);
      CHECK(replaced.overlap <= 1);
      if (replaced.ensemble.certainty != Certainty::kEstimate) continue;
      ++num_bars;
      const double error = *replaced.ensemble.log_z_error;
      num_held += std::abs(replaced.ensemble.log_z - log_z) <= 1.96 * error ? 1 : 0;
    }
    const double mean = sum / kRuns, sd = std::sqrt(squares / kRuns - mean * mean);
    CAPTURE(static_cast<int>(method), mean, sd, num_held, num_bars);
    CHECK(std::abs(mean - 1) <= 4 * sd / std::sqrt(kRuns));
    if (method == Method::kExact) {  // 95 % of 400 are 380, with a standard deviation of 4
      CHECK(num_bars > 350);
      CHECK(num_held >= 0.9 * num_bars);
    }
    // No bar where particles share ancestors, or are no draws.
    if (method == Method::kFilter || method == Method::kDiscreteAhead) CHECK(num_bars == 0);
  }
}

TEST_CASE("where the models disagree the estimate is called unreliable") {
  Hmm hmm;
  const auto opposed = [](const Ensemble& ensemble) {
    std::vector<double> scores;
    for (double score : ensemble.log_scores) scores.push_back(-8 * score);
    return scores;
  };
  for (const Method method : {Method::kImportance, Method::kFilter, Method::kDiscreteAhead}) {
    const Ensemble drawn =
        sample(hmm.program, hmm.parameters, kX, {.method = method, .particles = 24});
    const Rescored replaced = rescore(drawn, opposed(drawn));
    CHECK(replaced.overlap < 0.5);
    CHECK(replaced.ensemble.certainty == Certainty::kUnreliable);
    CHECK(!replaced.ensemble.caution.empty());
  }
  SampleOptions by_score{.method = Method::kFilter, .particles = 24};
  by_score.weights = Weights::kScore;
  const Ensemble weighed = sample(hmm.program, hmm.parameters, kX, by_score);
  CHECK(rescore(weighed, second_scores(weighed)).ensemble.certainty == Certainty::kUnreliable);
}

TEST_CASE("the same model changes nothing but the claim; no mass and no sense are errors") {
  const Ensemble before = four();
  const Rescored same = rescore(before, before.log_scores);
  CHECK(same.overlap == Approx(1));
  CHECK(same.ensemble.log_z == Approx(before.log_z));
  CHECK(same.ensemble.counts == std::vector<int32_t>{4, 1, 2, 1});
  CHECK(same.ensemble.log_weights.back() == -INFINITY);
  const std::vector<double> none(4, -INFINITY);
  CHECK_THROWS_AS(rescore(before, none), Error);
  CHECK_THROWS_AS(rescore(before, std::vector<double>(3)), Error);
  CHECK_THROWS_AS(rescore(before, before.log_scores, {.combine = Combine::kProduct, .alpha = 0}),
                  Error);
  std::vector<double> some = before.log_scores;
  some[0] = -INFINITY;  // a score like others
  const Rescored rest = rescore(before, some, {.combine = Combine::kProduct});
  CHECK(rest.ensemble.sequence(0)[0] == 1);
  CHECK(std::isfinite(rest.ensemble.log_z));
}

TEST_CASE("what exact draws know of their model is not said of another") {
  const Hmm hmm;
  const Ensemble draws = sample_finite(hmm.program, hmm.parameters, kX, {.particles = 50});
  REQUIRE(draws.entropy());
  REQUIRE(draws.has_exact_marginals());
  const Ensemble after = rescore(draws, near_scores(draws), {}).ensemble;
  CHECK_FALSE(after.entropy());
  CHECK_FALSE(after.has_exact_marginals());
}
