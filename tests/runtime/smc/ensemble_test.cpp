#include "runtime/smc/ensemble.h"

#include <cmath>

#include "base/error.h"
#include "runtime/smc/metrics.h"
#include "tests/catch.h"
#include "tests/support/hand_ensemble.h"

using namespace scry;
using test::hand_ensemble;
using test::HandSequence;

namespace {

/// Weights 6, 3, 1, 0 of 10 on four sequences of two tags, multiplied by exp(shift): 4, 1, 2 and 1
/// of 8 particles.
Ensemble four(double shift = 0) {
  return hand_ensemble({{{0, 1}, std::log(6) + shift, 4, -1},
                        {{1, 1}, std::log(3) + shift, 1, -2},
                        {{0, 0}, std::log(1) + shift, 2, -3},
                        {{1, 0}, -INFINITY, 1, -4}},
                       2, 8);
}

/// No mass, by having no sequences or by weights of 0.
std::vector<Ensemble> ensembles_without_mass() {
  Ensemble fresh;  // whose log_z is not -∞
  fresh.length = 2;
  fresh.info.particles = 8;
  return {fresh, hand_ensemble({}, 2, 8),
          hand_ensemble({{{0, 1}, -INFINITY, 4}, {{1, 1}, -INFINITY, 4}}, 2, 8)};
}

std::vector<int32_t> copy_of(std::span<const int32_t> tags) { return {tags.begin(), tags.end()}; }

}  // namespace

TEST_CASE("log Σ exp is that of the definition, whatever the magnitude") {
  CHECK(log_sum_exp({}) == -INFINITY);
  CHECK(log_sum_exp(std::vector<double>{-INFINITY, -INFINITY}) == -INFINITY);
  for (double shift : {-1e4, 0.0, 1e4}) {
    CHECK(log_sum_exp(std::vector<double>{std::log(2) + shift, -INFINITY, std::log(3) + shift}) -
              shift ==
          Approx(std::log(5)));
  }
}

TEST_CASE("a sequence's probability is its share of the weight") {
  for (double shift : {-1e4, 0.0, 1e4}) {
    const Ensemble ensemble = four(shift);
    CHECK(ensemble.probability(0) == Approx(0.6));
    CHECK(ensemble.probability(1) == Approx(0.3));
    CHECK(ensemble.probability(2) == Approx(0.1));
    CHECK(ensemble.probability(3) == 0);
    CHECK(ensemble.log_probability(0) == Approx(std::log(0.6)));
    CHECK(ensemble.log_probability(3) == -INFINITY);
  }
}

TEST_CASE("the particles' mean weight is Ẑ") {
  const Ensemble ensemble = four();
  CHECK(ensemble.particle_log_weight(0) == Approx(std::log(6.0 / 4 * 8)));
  CHECK(ensemble.particle_log_weight(1) == Approx(std::log(3.0 / 1 * 8)));
  CHECK(ensemble.particle_log_weight(3) == -INFINITY);
  double total = 0;
  for (size_t i = 0; i < ensemble.size(); ++i) {
    total += ensemble.counts[i] * std::exp(ensemble.particle_log_weight(i));
  }
  CHECK(std::log(total / 8) == Approx(ensemble.log_z));
}

TEST_CASE("in a weighted set each sequence stands for itself, be it a sample or none") {
  Ensemble ensemble = hand_ensemble({{{0}, std::log(1)}, {{1}, std::log(3)}}, 1);
  CHECK_FALSE(ensemble.has_counts());
  for (int particles : {0, 5}) {
    ensemble.info.particles = particles;
    CHECK(ensemble.particle_log_weight(1) == std::log(3));
    CHECK(ensemble.count(1) == 1);
    CHECK(ensemble.ess() == Approx(16.0 / 10));
  }
  ensemble.sort();
  CHECK(ensemble.tags == std::vector<int32_t>{1, 0});
  CHECK_FALSE(ensemble.has_counts());
}

TEST_CASE("the effective sample size is that of the particles, not of the sequences") {
  // Particles of weight 6/4 (4 times), 3, 1/2 (twice) and 0.
  const double squares = 4 * 1.5 * 1.5 + 9 + 2 * 0.25;
  for (double shift : {-1e4, 0.0, 1e4}) CHECK(four(shift).ess() == Approx(100 / squares));
  // Draws of the exact proposal have equal weights.
  CHECK(hand_ensemble({{{0}, std::log(5), 5}, {{1}, std::log(3), 3}}, 1, 8).ess() == Approx(8));
  // One heavy particle hides the others.
  CHECK(hand_ensemble({{{0}, 1e4}, {{1}, -1e4, 7}}, 1, 8).ess() == Approx(1));
}

TEST_CASE("an expectation is the weighted mean, of sequences that can be drawn") {
  const double mean = four().expectation([](std::span<const int32_t> y) {
    return y[0] == 1 && y[1] == 0 ? INFINITY : 10.0 * y[0] + y[1];
  });
  CHECK(mean == Approx(0.6 * 1 + 0.3 * 11));
}

TEST_CASE("tag marginals are sums of probabilities") {
  const std::vector<double> marginals = four().tag_marginals(3);
  const std::vector<double> expected{0.7, 0.3, 0, 0.1, 0.9, 0};
  REQUIRE(marginals.size() == expected.size());
  for (size_t k = 0; k < expected.size(); ++k) CHECK(marginals[k] == Approx(expected[k]));
  CHECK_THROWS_AS(four().tag_marginals(1), Error);
}

TEST_CASE("draws have the ensemble's distribution and never weight 0") {
  for (double shift : {-1e4, 0.0, 1e4}) {
    Ensemble ensemble = four(shift);
    std::swap(ensemble.log_weights[0], ensemble.log_weights[3]);  // 0 comes first
    Random random(5, 0);
    constexpr int kDraws = 20000;
    std::vector<int> counts(4);
    for (int n = 0; n < kDraws; ++n) ++counts[ensemble.draw(random)];
    CHECK(counts[0] == 0);
    for (size_t i : {size_t{1}, size_t{2}, size_t{3}}) {
      const double p = ensemble.probability(i);
      CHECK(std::abs(counts[i] - kDraws * p) < 5 * std::sqrt(kDraws * p * (1 - p)));
    }
  }
}

TEST_CASE("a draw is where the cumulative probability passes the next uniform number") {
  const Ensemble ensemble = four();
  Random random(6, 0), same(6, 0);
  for (int n = 0; n < 1000; ++n) {
    const double u = same.uniform();
    CHECK(ensemble.draw(random) == (u < 0.6 ? 0u : u < 0.9 ? 1u : 2u));
  }
}

TEST_CASE("an ensemble without mass gives zeros, and cannot be drawn from") {
  for (const Ensemble& ensemble : ensembles_without_mass()) {
    CHECK(ensemble.ess() == 0);
    for (size_t i = 0; i < ensemble.size(); ++i) {
      CHECK(ensemble.probability(i) == 0);
      CHECK(ensemble.particle_log_weight(i) == -INFINITY);
    }
    CHECK(ensemble.expectation([](auto) { return 1.0; }) == 0);
    CHECK(ensemble.tag_marginals(2) == std::vector<double>(4, 0.0));
    CHECK(ensemble.top(9).size() == ensemble.size());
    Random random(1, 0);
    CHECK_THROWS_AS(ensemble.draw(random), Error);
  }
}

TEST_CASE(
    "sorting puts the heaviest first, ties in the order of tags, and keeps columns together") {
  Ensemble ensemble = hand_ensemble({{{1, 2}, 0.5, 1, 10},
                                     {{9, 9}, -INFINITY, 2, 20},
                                     {{0, 3}, 0.5, 3, 30},
                                     {{0, 2}, 0.5, 4, 40},
                                     {{5, 5}, 1e4, 5, 50}},
                                    2, 15);
  ensemble.sort();
  CHECK(ensemble.tags == std::vector<int32_t>{5, 5, 0, 2, 0, 3, 1, 2, 9, 9});
  CHECK(ensemble.log_weights == std::vector<double>{1e4, 0.5, 0.5, 0.5, -INFINITY});
  CHECK(ensemble.log_scores == std::vector<double>{50, 40, 30, 10, 20});
  CHECK(ensemble.counts == std::vector<int32_t>{5, 4, 3, 1, 2});
  CHECK(ensemble.top(2) == std::vector<size_t>{0, 1});
}

TEST_CASE("the heaviest sequences are found in an ensemble that is not yet sorted") {
  Ensemble ensemble = four();
  std::swap(ensemble.log_weights[0], ensemble.log_weights[3]);
  CHECK(ensemble.top(2) == std::vector<size_t>{3, 1});
  CHECK(ensemble.top(0).empty());
  CHECK(ensemble.top(SIZE_MAX) == std::vector<size_t>{3, 1, 2, 0});
}

TEST_CASE("an ensemble of the empty sequence is in order") {
  Ensemble ensemble = hand_ensemble({{{}, 0.0, 8}}, 0, 8);
  ensemble.sort();
  CHECK(ensemble.probability(0) == 1);
  CHECK(ensemble.sequence(0).empty());
  CHECK(ensemble.tag_marginals(3).empty());
  CHECK(ensemble.ess() == Approx(8));
}

TEST_CASE("rows are counted over all steps") {
  Ensemble ensemble = four();
  CHECK(ensemble.num_rows() == 0);
  ensemble.steps.resize(2);
  ensemble.steps[0].num_rows = 1;
  ensemble.steps[1].num_rows = int64_t{1} << 40;
  CHECK(ensemble.num_rows() == (int64_t{1} << 40) + 1);
}

/// Student's 97.5 % quantiles over the normal one, from tables: what so many degrees of freedom
/// widen a bar by.
const double kStudent[] = {0, 12.7062 / 1.95996, 4.3027 / 1.95996, 3.1824 / 1.95996};

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
  const std::vector<double> found = pooled.tag_marginals(2), wanted = exact.tag_marginals(2);
  for (size_t k = 0; k < found.size(); ++k) CHECK(std::abs(found[k] - wanted[k]) < 0.03);
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
  CHECK(copy_of(ab.sequence(0)) == copy_of(ba.sequence(0)));
  CHECK(ab.tags == ba.tags);
  CHECK(ab.counts == ba.counts);
  for (size_t i = 0; i < 3; ++i) CHECK(ab.log_weights[i] == Approx(ba.log_weights[i]));
}
