// pool_runs of runtime/smc/ensemble.h.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "runtime/smc/metrics.h"
#include "tests/catch.h"
#include "tests/support/hand_ensemble.h"

using namespace scry;
using namespace scry::test;

namespace {

/// Student's 97.5 % quantiles over the normal one, from tables: what so many degrees of freedom
/// widen a bar by.
const double kStudent[] = {0, 12.7062 / 1.95996, 4.3027 / 1.95996, 3.1824 / 1.95996};

}  // namespace

TEST_CASE("pooled weights are means over all runs, also the empty ones") {
  for (double shift : {-1e4, 0.0, 1e4}) {
    // Ẑ = 10, 4 and, of two empty runs, 0: the mean is 3.5.
    const std::vector<Ensemble> runs{
        four(shift),
        hand_ensemble({{{1, 1}, std::log(4) + shift, 7, -2}, {{1, 0}, -INFINITY, 1, -4}}, 2, 8)};
    const Ensemble pooled = pool_runs(runs, 2);
    CHECK(pooled.info.runs == 4);
    CHECK(pooled.info.particles == 8);
    CHECK(pooled.tags == std::vector<int32_t>{1, 1, 0, 1, 0, 0, 1, 0});
    const std::vector<double> weights{7.0 / 4, 6.0 / 4, 1.0 / 4, 0};
    for (size_t i = 0; i < 4; ++i) {
      CHECK(std::exp(pooled.log_weights[i] - shift) == Approx(weights[i]));
    }
    CHECK(pooled.log_scores == std::vector<double>{-2, -1, -3, -4});
    CHECK(pooled.counts == std::vector<int32_t>{8, 4, 2, 2});
    CHECK(pooled.log_z - shift == Approx(std::log(3.5)));
    CHECK(log_sum_exp(pooled.log_weights) == Approx(pooled.log_z));
    // Each of the 8 particles on {1, 1} weighs 7/4 · 32 / 8.
    CHECK(pooled.particle_log_weight(0) - shift == Approx(std::log(7)));
    const double variance = (6.5 * 6.5 + 0.5 * 0.5 + 2 * 3.5 * 3.5) / 3;
    REQUIRE(pooled.log_z_error);
    CHECK(*pooled.log_z_error == Approx(kStudent[3] * std::sqrt(variance / 4) / 3.5).epsilon(1e-4));
  }
}

TEST_CASE("a single run stays as it is, with its steps and its own error") {
  Ensemble run = four();
  run.log_z_error = 0.25;
  run.steps.resize(2);
  const Ensemble pooled = pool_runs(std::vector{run});
  CHECK(pooled.log_z_error == 0.25);
  CHECK(pooled.steps.size() == 2);
  CHECK(pooled.info.runs == 1);
  CHECK(pooled.log_weights == run.log_weights);
}

TEST_CASE("pooling drops the steps of several runs, and a run and an empty one are two") {
  Ensemble run = four();
  run.log_z_error = 0.25;
  run.steps.resize(2);
  CHECK(pool_runs(std::vector{run, run}).steps.empty());
  const Ensemble pooled = pool_runs(std::vector{run}, 1);
  CHECK(pooled.steps.empty());
  CHECK(pooled.log_z == Approx(std::log(5)));
  // Of Ẑ = 10 and 0.
  CHECK(*pooled.log_z_error == Approx(kStudent[1] * std::sqrt((25 + 25) / 2.0) / 5).epsilon(1e-4));
  CHECK(pooled.certainty == Certainty::kUnreliable);
}

TEST_CASE("the scatter of runs is seen through very different totals") {
  const std::vector<Ensemble> runs{hand_ensemble({{{0}, 1e4, 8}}, 1, 8),
                                   hand_ensemble({{{1}, -1e4, 8}}, 1, 8)};
  const Ensemble pooled = pool_runs(runs);
  CHECK(pooled.log_z == Approx(1e4 - std::log(2)));
  CHECK(*pooled.log_z_error == Approx(kStudent[1]).epsilon(1e-4));  // of Ẑ = 2 and 0
  CHECK(pooled.probability(1) == 0);
}

TEST_CASE("exact runs pool to an exact one, beams to one of unknown error") {
  Ensemble run = four();
  run.log_z_error = 0;
  // Equal weights are no exact answer, however many runs agree.
  CHECK(pool_runs(std::vector{run, run}).certainty == Certainty::kNoSpread);
  run.certainty = Certainty::kExact;
  CHECK(pool_runs(std::vector{run, run}).log_z_error == 0.0);
  CHECK(pool_runs(std::vector{run, run}).certainty == Certainty::kExact);
  CHECK(*pool_runs(std::vector{run, run}, 1).log_z_error > 0);  // one was none
  Ensemble beam = hand_ensemble({{{0}, 1}, {{1}, 2}}, 1);
  beam.certainty = Certainty::kLowerBound;
  const Ensemble pooled = pool_runs(std::vector{beam, beam});
  CHECK_FALSE(pooled.log_z_error);
  CHECK(pooled.certainty == Certainty::kLowerBound);
  CHECK_FALSE(pooled.has_counts());
  CHECK(pooled.log_z == Approx(beam.log_z));
  // The mean of a bound and of log Z itself is a bound.
  Ensemble all = beam;
  all.certainty = Certainty::kExact;
  CHECK(pool_runs(std::vector{all, beam}).certainty == Certainty::kLowerBound);
}

TEST_CASE("runs of weighted sets are pooled by weight, with an error bar from their scatter") {
  // Two sets that an unbiased method drew, of Ẑ = 4 and 8, with one sequence in common.
  Ensemble a = hand_ensemble({{{0, 1}, std::log(3), 1, -1}, {{1, 1}, std::log(1), 1, -2}}, 2);
  Ensemble b = hand_ensemble({{{0, 0}, std::log(6), 1, -3}, {{0, 1}, std::log(2), 1, -1}}, 2);
  a.info.particles = b.info.particles = 2;
  const Ensemble pooled = pool_runs(std::vector{a, b});
  CHECK_FALSE(pooled.has_counts());
  CHECK(pooled.info.runs == 2);
  CHECK(pooled.log_z == Approx(std::log(6)));
  CHECK(log_sum_exp(pooled.log_weights) == Approx(pooled.log_z));
  CHECK(pooled.tags == std::vector<int32_t>{0, 0, 0, 1, 1, 1});
  CHECK(pooled.probability(0) == Approx(3.0 / 6));
  CHECK(pooled.probability(1) == Approx(2.5 / 6));
  CHECK(pooled.log_scores == std::vector<double>{-3, -1, -2});
  CHECK(pooled.ess() == Approx(36 / (9 + 6.25 + 0.25)));
  CHECK(*pooled.log_z_error == Approx(kStudent[1] * std::sqrt((4 + 4) / 2.0) / 6).epsilon(1e-4));
  const Ensemble with_empty = pool_runs(std::vector{a, b}, 2);
  CHECK(with_empty.log_z == Approx(std::log(3)));
}

TEST_CASE("weighted sets drawn without bias give what enumeration gives, pooled over many runs") {
  // All 16 taggings of 4 positions, of which each run takes some, by Poisson sampling: tagging i is
  // in it with probability p_i and then weighs exp(G_i) / p_i.
  std::vector<double> scores;
  Random random(3, 0);
  for (int i = 0; i < 16; ++i) scores.push_back(2 * random.normal());
  const auto tags_of = [](int i) {
    return std::vector<int32_t>{i & 1, (i >> 1) & 1, (i >> 2) & 1, (i >> 3) & 1};
  };
  std::vector<HandSequence> all;
  for (int i = 0; i < 16; ++i)
    all.push_back({tags_of(i), scores[static_cast<size_t>(i)], 1, scores[static_cast<size_t>(i)]});
  const Ensemble exact = hand_ensemble(all, 4);
  std::vector<Ensemble> runs;
  int num_empty = 0;
  for (int run = 0; run < 4000; ++run) {
    std::vector<HandSequence> taken;
    for (const HandSequence& each : all) {
      const double p = each.log_score > 0 ? 0.8 : 0.4;
      if (random.uniform() >= p) continue;
      taken.push_back(each);
      taken.back().log_weight -= std::log(p);
    }
    num_empty += taken.empty() ? 1 : 0;
    if (taken.empty()) continue;
    runs.push_back(hand_ensemble(taken, 4));
    runs.back().info.particles = 8;
  }
  const Ensemble pooled = pool_runs(runs, num_empty);
  REQUIRE(pooled.size() == 16);
  CHECK(pooled.certainty == Certainty::kEstimate);
  CHECK(std::abs(pooled.log_z - exact.log_z) < 4 * *pooled.log_z_error);
  CHECK(*pooled.log_z_error < 0.02);
  CHECK(pooled.ess() == Approx(exact.ess()).epsilon(0.1));
  CHECK((pooled.tag_marginals(2) - exact.tag_marginals(2)).cwiseAbs().maxCoeff() < 0.03);
  CHECK(total_variation(pooled, exact) < 0.03);
  CHECK(kl_divergence(pooled, exact.log_z) < 0.01);
}

TEST_CASE("pooling pooled runs is pooling them all at once") {
  const auto run = [](double z) { return hand_ensemble({{{0}, std::log(z), 8}}, 1, 8); };
  const std::vector<Ensemble> apart{run(1), run(2), run(3), run(8)};
  const Ensemble together = pool_runs(apart, 1);
  const Ensemble staged = pool_runs(std::vector{pool_runs(std::span(apart).first(3)), apart[3]}, 1);
  CHECK(staged.info.runs == 5);
  CHECK(staged.counts == together.counts);
  CHECK(staged.log_z == Approx(together.log_z));
  CHECK(staged.log_weights[0] == Approx(together.log_weights[0]));
  CHECK(staged.particle_log_weight(0) == Approx(together.particle_log_weight(0)));
  // Ẑ = 2 three times, 8 and 0 have the mean 2.8; they are three values with 5 runs.
  const double scatter = std::sqrt((3 * 0.64 + 5.2 * 5.2 + 2.8 * 2.8) / 2 / 5) / 2.8;
  CHECK(*staged.log_z_error == Approx(kStudent[2] * scatter).epsilon(1e-4));
}

TEST_CASE("runs without mass pool to an ensemble without mass") {
  const std::vector<Ensemble> runs = ensembles_without_mass();
  const Ensemble pooled = pool_runs(runs, 1);
  CHECK(pooled.log_z == -INFINITY);
  CHECK_FALSE(pooled.log_z_error);
  CHECK(pooled.log_weights == std::vector<double>(2, -INFINITY));
  CHECK(pooled.ess() == 0);
  // Beside another run they count as 0.
  CHECK(pool_runs(std::vector{four(), runs[0], runs[1], runs[2]}).log_z == Approx(std::log(2.5)));
}

TEST_CASE("runs that do not belong together are not pooled") {
  CHECK_THROWS_AS(pool_runs({}), Error);
  CHECK_THROWS_AS(pool_runs({}, 3), Error);
  CHECK_THROWS_AS(pool_runs(std::vector{four()}, -1), Error);
  Ensemble hot = four();
  hot.info.temperature = 2;
  CHECK_THROWS_WITH(pool_runs(std::vector{four(), hot}),
                    "pooling: the runs have temperatures 1 and 2");
  CHECK_THROWS_WITH(pool_runs(std::vector{four(), hand_ensemble({{{1}, 0, 8}}, 1, 8)}),
                    "pooling: the runs are on inputs of lengths 2 and 1");
  CHECK_THROWS_WITH(pool_runs(std::vector{four(), hand_ensemble({{{1, 0}, 0, 9}}, 2, 9)}),
                    "pooling: the runs have 8 and 9 particles");
  Ensemble weighted = four();
  weighted.counts.clear();
  CHECK_THROWS_WITH(pool_runs(std::vector{weighted, four()}),
                    "pooling: some runs are of particles, others are weighted sets");
  Ensemble bound = weighted;
  bound.certainty = Certainty::kLowerBound;
  CHECK_THROWS_WITH(pool_runs(std::vector{weighted, bound}),
                    "pooling: some runs give lower bounds of log Z, others estimates");
}

TEST_CASE("equal sequences are merged whatever the order of runs") {
  const Ensemble other =
      hand_ensemble({{{0, 0}, std::log(5), 3, -3}, {{1, 1}, std::log(2), 5, -2}}, 2, 8);
  const Ensemble ab = pool_runs(std::vector{four(), other}),
                 ba = pool_runs(std::vector{other, four()});
  REQUIRE(ab.size() == 4);
  CHECK(std::ranges::equal(ab.sequence(0), ba.sequence(0)));
  CHECK(ab.tags == ba.tags);
  CHECK(ab.counts == ba.counts);
  for (size_t i = 0; i < 3; ++i) CHECK(ab.log_weights[i] == Approx(ba.log_weights[i]));
}
