#include "runtime/search/lattice_sums.h"

#include <Eigen/Core>
#include <cmath>
#include <map>

#include "runtime/search/exact.h"
#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

using Scores = std::map<std::vector<int>, double>;

double expected_entropy(const Scores& scores, double temperature) {
  const double log_z = log_total(scores, temperature);
  double entropy = 0;
  for (const auto& [y, score] : scores) {
    const double log_p = score / temperature - log_z;
    if (log_p > -INFINITY) entropy -= std::exp(log_p) * log_p;
  }
  return entropy;
}

/// p(y_t = a, y_{t+1} = b), t counted from 0.
Eigen::MatrixXd expected_transitions(const Scores& scores, double temperature, size_t t) {
  const double log_z = log_total(scores, temperature);
  Eigen::MatrixXd pairs = Eigen::MatrixXd::Zero(kHmmTags, kHmmTags);
  for (const auto& [y, score] : scores)
    pairs(y[t], y[t + 1]) += std::exp(score / temperature - log_z);
  return pairs;
}

void check_sums(const Posterior& posterior, const Scores& scores, double temperature,
                size_t length) {
  CHECK(std::abs(posterior.log_z() - log_total(scores, temperature)) < 1e-12);
  CHECK(std::abs(posterior.entropy() - expected_entropy(scores, temperature)) < 1e-12);
  const std::vector<RealMatrix<double>> pairs = posterior.transition_marginals();
  REQUIRE(pairs.size() == length - 1);
  for (size_t t = 0; t + 1 < length; ++t)
    CHECK((pairs[t] - expected_transitions(scores, temperature, t)).cwiseAbs().maxCoeff() < 1e-12);
}

/// The HMM whose state after the first step is always 0, so that two tags lead to every state.
Program forgetful_hmm() {
  Program program = hand_hmm_without_proposal();
  program.advance.forward.run = [](const KernelCall* call) {
    std::fill_n(static_cast<int32_t*>(call->args[1]), call->num_rows, 0);
  };
  return program;
}

}  // namespace

TEST_CASE("entropy and transition marginals are those of all taggings, over states or by all") {
  for (uint64_t seed : {1, 2, 3}) {
    ScoredHmm hmm(seed);
    if (seed == 2) hmm.set_trans(1, 1, -INFINITY);
    for (size_t length : {1, 2, 6}) {
      const std::vector<int> x = random_input(hmm.program.task, static_cast<int>(length), seed);
      for (const TagSets& allowed : {TagSets(), some_constraints(static_cast<int>(length), 3)}) {
        const Scores scores = all_scores(hmm, x, allowed);
        for (double temperature : {1.0, 0.3, 4.0}) {
          const SampleOptions options{.temperature = temperature};
          check_sums(*finite_posterior(hmm.program, hmm.parameters, {x, allowed}, options), scores,
                     temperature, length);
          check_sums(*exact_posterior(hmm.program, hmm.parameters, {x, allowed}, options), scores,
                     temperature, length);
        }
      }
    }
  }
}

TEST_CASE("transitions are exact where states have forgotten the tags that led to them") {
  const ScoredHmm hmm(4, forgetful_hmm());
  const std::vector<int> x{0, 2, 1, 1};
  Scores scores;
  for (const std::vector<int>& y : all_taggings(kHmmTags, 4)) {
    double score = 0;
    for (size_t t = 0; t < 4; ++t) {
      const int state = t == 0 ? kHmmTags : 0;
      score += hmm.trans()[static_cast<size_t>(state * kHmmTags + y[t])] +
               hmm.emit()[static_cast<size_t>(y[t] * kHmmSymbols + x[t])];
    }
    scores[y] = score;
  }
  const Lattice lattice = build_lattice(hmm.program, hmm.parameters, {x}, 0, {});
  CHECK(lattice.num_rows() == 4);  // of which two tags lead to each but the first
  check_sums(*finite_posterior(hmm.program, hmm.parameters, {x}, {}), scores, 1, 4);
}

TEST_CASE("arcs of a step have probabilities that add up to 1, and to the tags' marginals") {
  const ScoredHmm hmm(5);
  const std::vector<int> x = random_input(hmm.program.task, 40, 1);
  const Lattice lattice = build_lattice(hmm.program, hmm.parameters, {x}, 0, {});
  const LatticeSums sums(lattice, 1);
  const RealMatrix<double> tags = sums.tag_marginals(kHmmTags);
  const std::vector<std::vector<double>> arcs = sums.arc_marginals();
  for (size_t t = 0; t < arcs.size(); ++t) {
    double total = 0, of_first = 0;
    for (size_t arc = 0; arc < arcs[t].size(); ++arc) {
      total += arcs[t][arc];
      of_first += lattice.steps[t].arcs[arc].tag == 0 ? arcs[t][arc] : 0;
    }
    CHECK(std::abs(total - 1) < 1e-12);
    CHECK(std::abs(of_first - tags(static_cast<Eigen::Index>(t), 0)) < 1e-12);
  }
}

TEST_CASE("one tagging has no entropy, however its score is rounded") {
  ScoredHmm hmm(6);
  TagSets allowed(50, kHmmTags);
  for (int step = 1; step <= 50; ++step) allowed.allow_only(step, {step % 2});
  const std::vector<int> x = random_input(hmm.program.task, 50, 1);
  const auto posterior = finite_posterior(hmm.program, hmm.parameters, {x, allowed}, {});
  CHECK(posterior->entropy() == 0);
  CHECK(posterior->draw(3, 1).entropy() == 0.0);
}

TEST_CASE("exact draws know the marginals and the entropy of p, not of themselves") {
  const ScoredHmm hmm(7);
  const std::vector<int> x{0, 2, 1, 1};
  const Scores scores = all_scores(hmm, x);
  const Ensemble draws = sample_finite(hmm.program, hmm.parameters, {x}, {.particles = 3});
  REQUIRE(draws.entropy());
  CHECK(std::abs(*draws.entropy() - expected_entropy(scores, 1)) < 1e-12);
  CHECK(draws.has_exact_marginals());
  const Ensemble all = enumerate(hmm.program, hmm.parameters, {x});
  CHECK(all.has_exact_marginals());
  CHECK(std::abs(*all.entropy() - expected_entropy(scores, 1)) < 1e-12);
  CHECK((draws.best_tag_marginals(kHmmTags) - all.tag_marginals(kHmmTags)).cwiseAbs().maxCoeff() <
        1e-12);
  const Ensemble sampled = filter(hmm.program, hmm.parameters, {x}, {.particles = 50});
  CHECK_FALSE(sampled.entropy());
  CHECK_FALSE(sampled.has_exact_marginals());
  CHECK(sampled.best_tag_marginals(kHmmTags) == sampled.tag_marginals(kHmmTags));
}

TEST_CASE("lattices that are built together are those of each alone") {
  ScoredHmm hmm(8);
  hmm.set_trans(0, 1, -INFINITY);
  std::vector<std::vector<int>> xs;
  for (int length : {7, 5, 5, 2, 1}) xs.push_back(random_input(hmm.program.task, length, 4));
  std::vector<std::span<const int>> inputs(xs.begin(), xs.end());
  const std::vector<int64_t> numbers{0, 1, 2, 3, 4};
  LatticeBuilder builder(hmm.program, hmm.parameters);
  const Batch batch(hmm.program, hmm.parameters, inputs, false);
  for (int again = 0; again < 2; ++again) {
    const std::vector<Lattice> all = builder.build(batch, {}, numbers, {});
    for (size_t s = 0; s < xs.size(); ++s) {
      const Lattice alone = build_lattice(hmm.program, hmm.parameters, {xs[s]}, 0, {});
      REQUIRE(all[s].steps.size() == alone.steps.size());
      for (size_t t = 0; t < alone.steps.size(); ++t) {
        CHECK(all[s].steps[t].first_arc == alone.steps[t].first_arc);
        for (size_t arc = 0; arc < alone.steps[t].arcs.size(); ++arc) {
          const Arc &a = all[s].steps[t].arcs[arc], &b = alone.steps[t].arcs[arc];
          CHECK((a.tag == b.tag && a.to == b.to && a.score == b.score));
        }
        const int64_t first = all[s].steps[t].first_state;
        CHECK(builder.positions()[static_cast<size_t>(first)] ==
              batch.position(static_cast<int>(t) + 1, static_cast<int>(s)));
      }
    }
  }
}
