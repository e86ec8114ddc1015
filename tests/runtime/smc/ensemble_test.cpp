#include "runtime/smc/ensemble.h"

#include <Eigen/Core>
#include <cmath>

#include "base/error.h"
#include "tests/catch.h"
#include "tests/support/hand_ensemble.h"

using namespace scry;
using namespace scry::test;

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

TEST_CASE("an expectation of vectors and matrices is theirs, entry by entry") {
  const Ensemble ensemble = four();
  const auto one_hot = [](std::span<const int32_t> y) {
    Eigen::MatrixXd hot = Eigen::MatrixXd::Zero(2, 3);
    hot(0, y[0]) = hot(1, y[1]) = 1;
    return hot;
  };
  CHECK(ensemble.expectation(one_hot) == ensemble.tag_marginals(3));
  const Eigen::Vector2d mean = ensemble.expectation([](std::span<const int32_t> y) {
    return y[0] == 1 && y[1] == 0 ? Eigen::Vector2d(INFINITY, NAN) : Eigen::Vector2d(y[0], 10);
  });
  CHECK(mean(0) == Approx(0.3));
  CHECK(mean(1) == Approx(10));
  CHECK(ensemble.expectation([](auto y) { return y[0]; }) == Approx(0.3));  // a number stays one
  for (const Ensemble& empty : ensembles_without_mass())
    CHECK_THROWS_AS(empty.expectation(one_hot), Error);
}

TEST_CASE("tag marginals are sums of probabilities") {
  const RealMatrix<double> marginals = four().tag_marginals(3);
  Eigen::MatrixXd expected(2, 3);
  expected << 0.7, 0.3, 0, 0.1, 0.9, 0;
  REQUIRE((marginals.rows() == 2 && marginals.cols() == 3));
  CHECK(marginals.isApprox(expected, 1e-12));
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
    CHECK(ensemble.tag_marginals(2) == Eigen::MatrixXd::Zero(2, 2));
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
  CHECK(ensemble.tag_marginals(3).rows() == 0);
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
