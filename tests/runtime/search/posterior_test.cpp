#include "runtime/search/posterior.h"

#include <Eigen/Core>

#include "runtime/search/exact.h"
#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::vector<int> kX{2, 0, 1, 1, 2};

Eigen::MatrixXd expected_marginals(const std::map<std::vector<int>, double>& scores,
                                   double temperature) {
  Eigen::MatrixXd marginals = Eigen::MatrixXd::Zero(static_cast<int>(kX.size()), kHmmTags);
  const double log_z = log_total(scores, temperature);
  for (const auto& [y, score] : scores) {
    for (size_t t = 0; t < y.size(); ++t)
      marginals(static_cast<int>(t), y[t]) += std::exp(score / temperature - log_z);
  }
  return marginals;
}

struct Ways {
  std::unique_ptr<Posterior> enumerated, finite;
  Ways(const ScoredHmm& hmm, const SampleInput& input, const SampleOptions& options)
      : enumerated(
            enumerated_posterior(enumerate(hmm.program, hmm.parameters, input, options), kHmmTags)),
        finite(finite_posterior(hmm.program, hmm.parameters, input, options)) {}
};

}  // namespace

TEST_CASE("Z and marginals are those of all taggings, by either way") {
  for (uint64_t seed : {1, 2}) {
    ScoredHmm hmm(seed);
    if (seed == 2) hmm.set_trans(1, 1, -INFINITY);
    for (const TagSets& allowed : {TagSets(), some_constraints(static_cast<int>(kX.size()), 3)}) {
      const auto scores = all_scores(hmm, kX, allowed);
      for (double temperature : {1.0, 0.4, 3.0}) {
        const Ways ways(hmm, {kX, allowed}, {.temperature = temperature});
        for (const Posterior* posterior : {ways.enumerated.get(), ways.finite.get()}) {
          CHECK(posterior->log_z() == Approx(log_total(scores, temperature)).epsilon(1e-12));
          const RealMatrix<double> marginals = posterior->tag_marginals();
          CHECK((marginals - expected_marginals(scores, temperature)).cwiseAbs().maxCoeff() <
                1e-12);
        }
      }
    }
  }
}

TEST_CASE("draws have the model's probabilities, and shares that are near") {
  const ScoredHmm hmm(3);
  const auto scores = all_scores(hmm, kX);
  const double log_z = log_total(scores);
  const int num_draws = 20'000;
  const Ways ways(hmm, kX, {.first_sequence = 4});
  for (const Posterior* posterior : {ways.enumerated.get(), ways.finite.get()}) {
    const Ensemble drawn = posterior->draw(num_draws, 9);
    CHECK(drawn.certainty == Certainty::kExact);
    CHECK(drawn.info.particles == num_draws);
    CHECK(drawn.ess() == Approx(num_draws));
    int total = 0;
    for (size_t i = 0; i < drawn.size(); ++i) {
      const double p = std::exp(scores.at(ints(drawn.sequence(i))) - log_z);
      CHECK(std::exp(drawn.model_log_probability(i)) == Approx(p));
      CHECK(drawn.probability(i) == Approx(drawn.count(i) / double{num_draws}));
      CHECK(std::abs(drawn.probability(i) - p) < 5 * std::sqrt(p / num_draws));
      total += drawn.count(i);
    }
    CHECK(total == num_draws);
    CHECK(posterior->draw(7, 1).tags == posterior->draw(7, 1).tags);
    CHECK(posterior->draw(7, 1).tags != posterior->draw(7, 2).tags);
  }
}

TEST_CASE("an ensemble without mass is no posterior") {
  CHECK_THROWS_AS(enumerated_posterior(Ensemble{}, 2), Error);
}

TEST_CASE("the empty input has its one tagging, by either way") {
  const ScoredHmm hmm(4);
  const std::vector<int> none;
  const Ways ways(hmm, none, {});
  for (const Posterior* posterior : {ways.enumerated.get(), ways.finite.get()}) {
    CHECK(posterior->log_z() == 0);
    CHECK(posterior->tag_marginals().rows() == 0);
    CHECK(posterior->draw(5, 1).size() == 1);
  }
}
