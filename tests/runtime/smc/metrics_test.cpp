#include "runtime/smc/metrics.h"

#include <cmath>

#include "base/error.h"
#include "tests/catch.h"
#include "tests/support/hand_ensemble.h"
#include "tests/support/taggings.h"

using namespace scry;
using test::hand_ensemble;

namespace {

constexpr int kTags = 3, kLength = 3;

/// A model of all 27 taggings: G_T by their number, some of them −∞.
struct Toy {
  std::vector<std::vector<int32_t>> taggings;
  std::vector<double> log_scores;

  explicit Toy(double shift = 0) {
    Random random(4, 0);
    for (const std::vector<int>& y : test::all_taggings(kTags, kLength)) {
      taggings.emplace_back(y.begin(), y.end());
      log_scores.push_back(taggings.size() % 9 == 0 ? -INFINITY : shift + 2 * random.normal());
    }
  }
  double log_z(double temperature = 1) const {
    double total = 0;
    for (double score : log_scores) total += std::exp((score - log_scores[0]) / temperature);
    return log_scores[0] / temperature + std::log(total);
  }
  /// Every `stride`-th tagging from `first` on, weighted by `log_weight(i)`.
  template <class LogWeight>
  Ensemble ensemble(size_t first, size_t stride, double temperature, LogWeight log_weight) const {
    std::vector<test::HandSequence> sequences;
    for (size_t i = first; i < taggings.size(); i += stride) {
      sequences.push_back({taggings[i], log_weight(i), 1, log_scores[i]});
    }
    Ensemble result = hand_ensemble(sequences, kLength);
    result.info.temperature = temperature;
    result.sort();
    return result;
  }
  /// p itself, cut to every `stride`-th tagging.
  Ensemble cut(size_t first, size_t stride, double temperature = 1) const {
    return ensemble(first, stride, temperature,
                    [&](size_t i) { return log_scores[i] / temperature; });
  }
};

Ensemble without_mass() { return hand_ensemble({{{0, 0, 0}, -INFINITY, 8}}, kLength, 8); }

}  // namespace

TEST_CASE("the divergence of p from itself is 0") {
  for (double shift : {-1e4, 0.0, 1e4}) {
    for (double temperature : {0.5, 1.0, 3.0}) {
      const Toy model(shift);
      CHECK(std::abs(kl_divergence(model.cut(0, 1, temperature), model.log_z(temperature))) <
            1e-14 * (1 + std::abs(shift) / temperature) * 10);
    }
  }
}

TEST_CASE("the divergence is that of its definition") {
  const Toy model;
  const auto weight = [](size_t i) { return 1.0 + static_cast<double>(i % 5); };
  double total = 0;
  for (size_t i = 1; i < 27; i += 3) total += weight(i);
  for (double temperature : {0.5, 1.0, 3.0}) {
    double expected = 0;
    for (size_t i = 1; i < 27; i += 3) {
      const double p = std::exp(model.log_scores[i] / temperature - model.log_z(temperature));
      expected += weight(i) / total * std::log(weight(i) / total / p);
    }
    for (double scale : {-1e4, 0.0, 1e4}) {  // weights need not be normalized
      const Ensemble p_hat =
          model.ensemble(1, 3, temperature, [&](size_t i) { return scale + std::log(weight(i)); });
      CHECK(kl_divergence(p_hat, model.log_z(temperature)) == Approx(expected));
    }
  }
}

TEST_CASE("the divergence of p cut to a set is minus the log of the set's mass") {
  const Toy model;
  CHECK(kl_divergence(model.cut(1, 3), model.log_z()) ==
        Approx(model.log_z() - model.cut(1, 3).log_z));
}

TEST_CASE("sequences of probability 0 add nothing to a divergence, impossible ones infinity") {
  // p = ½, ½ on {0} and {1}, and 0 on {2}.
  const auto p_hat = [](double log_weight_of_2) {
    return hand_ensemble(
        {{{0}, 0, 1, 5}, {{1}, -INFINITY, 1, 5}, {{2}, log_weight_of_2, 1, -INFINITY}}, 1, 3);
  };
  const double log_z = 5 + std::log(2);
  CHECK(kl_divergence(p_hat(-INFINITY), log_z) == Approx(std::log(2)));
  CHECK(kl_divergence(p_hat(-1e4), log_z) == Approx(std::log(2)));  // below what double can tell
  CHECK(kl_divergence(p_hat(0), log_z) == INFINITY);
}

TEST_CASE("a divergence needs mass on both sides") {
  const Toy model;
  CHECK_THROWS_AS(kl_divergence(Ensemble{}, 0), Error);
  CHECK_THROWS_AS(kl_divergence(without_mass(), 0), Error);
  CHECK_THROWS_AS(kl_divergence(model.cut(0, 1), -INFINITY), Error);
  CHECK_THROWS_AS(kl_divergence(model.cut(0, 1), NAN), Error);
  CHECK_THROWS_AS(offset_kl(model.cut(0, 1), ParticlePool{}), Error);
}

TEST_CASE("the pool bounds log Z from below, and is it with all sequences") {
  for (double shift : {-1e4, 0.0, 1e4}) {
    const Toy model(shift);
    ParticlePool pool;
    CHECK(pool.size() == 0);
    CHECK(pool.log_z() == -INFINITY);
    double before = -INFINITY;
    for (size_t first = 0; first < 3; ++first) {
      pool.add(model.cut(first, 3));
      CHECK(pool.log_z() > before);
      CHECK(pool.log_z() <= model.log_z() + 1e-11);
      before = pool.log_z();
    }
    CHECK(pool.size() == 27);
    for (double temperature : {0.5, 1.0, 3.0}) {
      CHECK(std::abs(pool.log_z(temperature) - model.log_z(temperature)) < 1e-11);
    }
    pool.add(model.cut(0, 1));
    CHECK(pool.size() == 27);
    CHECK(pool.log_z() == before);
  }
}

TEST_CASE("the pool counts what was drawn, not its weight") {
  const Toy model;
  ParticlePool pool;
  pool.add(model.ensemble(1, 3, 1, [](size_t i) { return i == 1 ? 0 : -INFINITY; }));
  CHECK(pool.size() == 9);
  CHECK(pool.log_z() == Approx(model.cut(1, 3).log_z));
  pool.add(Ensemble{});  // nothing, of length 0
  CHECK(pool.size() == 9);
}

TEST_CASE("the order in which a pool was filled does not matter, not even to the last bit") {
  const Toy model;
  Ensemble rounded = model.cut(0, 2);
  for (double& score : rounded.log_scores) score -= 1e-9;
  const std::vector<Ensemble> ensembles{model.cut(0, 1), rounded, model.cut(1, 4), model.cut(0, 3)};
  ParticlePool forwards, backwards;
  for (size_t k = 0; k < ensembles.size(); ++k) {
    forwards.add(ensembles[k]);
    backwards.add(ensembles[ensembles.size() - 1 - k]);
  }
  for (double temperature : {0.7, 1.0}) {
    CHECK(forwards.log_z(temperature) == backwards.log_z(temperature));
  }
}

TEST_CASE("a pool is of one input") {
  ParticlePool pool;
  pool.add(Toy().cut(0, 1));
  CHECK_THROWS_WITH(pool.add(hand_ensemble({{{0, 1}, 0, 1}}, 2)),
                    "particle pool: a sequence of length 2 among those of length 3");
  CHECK(pool.size() == 27);
}

TEST_CASE("the offset divergence is a bound, is exact with all sequences, and keeps differences") {
  for (double temperature : {1.0, 2.0}) {
    const Toy model;
    const Ensemble a = model.cut(1, 3, temperature),
                   b = model.ensemble(0, 4, temperature, [](size_t i) {
                     return i == 8 ? -INFINITY : 0.1 * static_cast<double>(i);
                   });
    const auto exact = [&](const Ensemble& p_hat) {
      return kl_divergence(p_hat, model.log_z(temperature));
    };
    ParticlePool pool;
    pool.add(a);
    CHECK(std::abs(offset_kl(a, pool)) < 1e-12);  // all of the pool, in its proportions
    pool.add(b);
    for (const Ensemble& p_hat : {a, b}) {
      CHECK(offset_kl(p_hat, pool) > 0);
      CHECK(offset_kl(p_hat, pool) < exact(p_hat));
    }
    CHECK(offset_kl(a, pool) - offset_kl(b, pool) == Approx(exact(a) - exact(b)));
    pool.add(model.cut(0, 1, temperature));
    CHECK(offset_kl(a, pool) == Approx(exact(a)));
  }
}

TEST_CASE("the total variation is half the sum of differences") {
  const Ensemble a = hand_ensemble({{{0, 1}, std::log(6)}, {{1, 1}, std::log(3)}, {{0, 0}, 0}}, 2);
  const Ensemble b = hand_ensemble({{{1, 1}, 1e4 + std::log(5)},
                                    {{1, 0}, 1e4 + std::log(4)},
                                    {{0, 0}, 1e4},
                                    {{0, 1}, -INFINITY}},
                                   2);
  CHECK(total_variation(a, b) == Approx(0.6));  // ½ (0.6 + 0.2 + 0.4 + 0)
  CHECK(total_variation(b, a) == Approx(0.6));
  CHECK(total_variation(a, a) == 0);
  CHECK(total_variation(a, hand_ensemble({{{1, 0}, -1e4}}, 2)) == Approx(1));
  CHECK_THROWS_AS(total_variation(a, Toy().cut(0, 1)), Error);
  CHECK_THROWS_AS(total_variation(a, hand_ensemble({}, 2)), Error);
  CHECK_THROWS_AS(total_variation(without_mass(), Toy().cut(0, 1)), Error);
}

TEST_CASE("the variation of marginals is summed over positions") {
  // p̂(y_1): 0.6, 0.4; p̂(y_2): 0.2, 0.8.
  const Ensemble p_hat = hand_ensemble(
      {{{0, 1}, 3 + std::log(6)}, {{1, 0}, 3 + std::log(2)}, {{1, 1}, 3 + std::log(2)}}, 2);
  CHECK(marginal_variation(p_hat, std::vector{0.6, 0.4, 0.2, 0.8}, 2) == Approx(0).margin(1e-12));
  CHECK(marginal_variation(p_hat, std::vector{0.5, 0.5, 1.0, 0.0}, 2) == Approx(0.1 + 0.8));
  CHECK(marginal_variation(p_hat, std::vector{0.5, 0.25, 0.25, 0.0, 0.0, 1.0}, 3) ==
        Approx(0.25 + 1));  // tags that were never drawn
  CHECK_THROWS_AS(marginal_variation(p_hat, std::vector{0.5, 0.5}, 2), Error);
  CHECK_THROWS_AS(marginal_variation(p_hat, std::vector{1.0, 1.0}, 1), Error);
  CHECK_THROWS_AS(marginal_variation(without_mass(), std::vector(6, 0.5), 2), Error);
  CHECK(marginal_variation(hand_ensemble({{{}, 0}}, 0), {}, 2) == 0);
}

TEST_CASE("the proposal's divergence is log Z less the mean log weight, infinite with the dead") {
  const Ensemble all = hand_ensemble({{{0, 1}, std::log(6), 4}, {{1, 1}, std::log(3), 1}}, 2, 5);
  const double mean = (4 * std::log(6.0 / 4 * 5) + std::log(3.0 * 5)) / 5;
  CHECK(proposal_kl(all, 7) == Approx(7 - mean));
  CHECK(proposal_kl(test::four(), 7) == INFINITY);
  const Ensemble fewer = hand_ensemble({{{0, 1}, std::log(6), 4}}, 2, 5);  // one died on the way
  CHECK(proposal_kl(fewer, 7) == INFINITY);
  CHECK_THROWS_AS(proposal_kl(hand_ensemble({{{0, 1}, 0}}, 2), 0), Error);
}

TEST_CASE("a bit is log 2 nats") {
  CHECK(to_bits(std::log(8)) == Approx(3));
  CHECK(to_bits(0) == 0);
}
