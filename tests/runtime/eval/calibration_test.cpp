#include "runtime/eval/calibration.h"

#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::vector<int> kX{2, 0, 1, 1, 2};

/// log Σ over y_{t+1:T} of exp(G_T - G_t)/τ, after a prefix that ends with `tag`, by enumeration.
double to_go_after(const std::vector<double>& trans, const std::vector<double>& emit, int tag,
                   size_t t, double temperature, const TagSets& allowed = {}) {
  if (t == kX.size()) return 0;
  double total = 0;
  for (int next = 0; next < kHmmTags; ++next) {
    if (!allowed.allows(static_cast<int>(t) + 1, next)) continue;
    const double score = trans[static_cast<size_t>(tag * kHmmTags + next)] +
                         emit[static_cast<size_t>(next * kHmmSymbols + kX[t])];
    total +=
        std::exp(score / temperature + to_go_after(trans, emit, next, t + 1, temperature, allowed));
  }
  return std::log(total);
}

/// Mean over 0 < t < T of the variance of C_t/τ - H_t, which in an HMM depend on y_t alone.
double expected_variance(const ScoredHmm& hmm, double temperature, const TagSets& allowed = {}) {
  const std::vector<double> trans = hmm.block(32), emit = hmm.block(48);
  const auto scores = all_scores(hmm, kX, allowed);
  const double log_z = log_total(scores, temperature);
  double mean = 0;
  for (size_t t = 1; t < kX.size(); ++t) {
    double first = 0, second = 0;
    for (const auto& [y, score] : scores) {
      const int tag = y[t - 1];
      const double p = std::exp(score / temperature - log_z);
      const double d = to_go_after(trans, emit, tag, t, 1) / temperature -
                       to_go_after(hmm.trans(), hmm.emit(), tag, t, temperature, allowed);
      first += p * d;
      second += p * d * d;
    }
    mean += (second - first * first) / static_cast<double>(kX.size() - 1);
  }
  return mean;
}

Calibration measure(const ScoredHmm& hmm, const SampleInput& input, double temperature = 1) {
  const size_t num_taggings = all_scores(hmm, kX, input.allowed).size();
  return *CalibrationMeter(hmm.program, hmm.parameters)
              .measure(input, num_taggings, 32, {.temperature = temperature});
}

}  // namespace

TEST_CASE("the calibration of a forest is that of its definition") {
  // Two steps: prefixes a, b of probability ¾ and ¼; a goes on with weight 1 + 2, b with 1.
  Forest forest(1);
  forest.add(0, 0, 0, 0, std::log(3) + 5.0);  // a: C is right up to 5
  forest.add(0, 1, 0, 0, 7.0);                // b: up to 7
  forest.end_level();
  forest.add(1, 0, 0, 0, 0);
  forest.add(1, 1, 0, std::log(2), 0);
  forest.add(2, 0, 0, 0, 0);
  forest.end_level();
  const Calibration calibration = calibration_of(forest, 1);
  CHECK(calibration.variance == Approx(0.75 * 0.25 * 4));
  CHECK(calibration.blind_variance == Approx(0.75 * 0.25 * std::log(3) * std::log(3)));
}

TEST_CASE("prefixes that lead nowhere are none of the posterior's") {
  Forest forest(1);
  forest.add(0, 0, 0, 0, 1);
  forest.add(0, 1, 0, 3, 100);  // has no children
  forest.end_level();
  forest.add(1, 0, 0, 0, 0);
  forest.end_level();
  CHECK(calibration_of(forest, 1).variance == 0);
}

TEST_CASE("the exact lookahead is calibrated, and others are as far off as enumeration says") {
  for (uint64_t seed : {1, 2, 3}) {
    ScoredHmm hmm(seed);
    for (double temperature : {1.0, 0.5, 2.0}) {
      CHECK(measure(hmm, kX, temperature).variance ==
            Approx(expected_variance(hmm, temperature)).epsilon(1e-9));
    }
    hmm.copy_to_lookahead();
    CHECK(measure(hmm, kX).variance < 1e-24);
    CHECK(measure(hmm, kX).blind_variance > 1e-6);
    CHECK(measure(hmm, kX, 2).variance > 1e-9);  // it is exact at temperature 1 alone
  }
}

TEST_CASE("what constraints forbid is no part of the logprob-to-go") {
  ScoredHmm hmm(4);
  const TagSets allowed = some_constraints(static_cast<int>(kX.size()), 3);
  CHECK(measure(hmm, {kX, allowed}).variance ==
        Approx(expected_variance(hmm, 1, allowed)).epsilon(1e-9));
}

TEST_CASE("a lookahead that rules out what is possible is infinitely far off") {
  ScoredHmm hmm(5);
  const double blind = measure(hmm, kX).blind_variance;
  for (int next = 0; next < kHmmTags; ++next) hmm.parameters.values.set(32 + next, -INFINITY);
  const Calibration calibration = measure(hmm, kX);
  CHECK(calibration.variance == INFINITY);
  CHECK(calibration.blind_variance == Approx(blind));
}

TEST_CASE("without a lookahead C is 0") {
  const ScoredHmm hmm(6), blind(6, hand_hmm_without_proposal());
  CHECK(measure(blind, kX).variance == Approx(measure(hmm, kX).blind_variance));
  CHECK(measure(blind, kX).blind_variance == measure(blind, kX).variance);
}

TEST_CASE("one step leaves nothing to calibrate") {
  const ScoredHmm hmm(7);
  CHECK(!CalibrationMeter(hmm.program, hmm.parameters).measure(std::vector<int>{1}, 2, 2, {}));
  CHECK(!CalibrationMeter(hmm.program, hmm.parameters).measure(std::vector<int>{}, 1, 1, {}));
}

TEST_CASE(
    "calibration points are on the diagonal with the exact lookahead, and no more than asked") {
  const ScoredHmm hmm = exact_hmm(4);
  CalibrationMeter meter(hmm.program, hmm.parameters, true);
  for (const int most : {1, 2, 7, 31, 100}) {
    REQUIRE(meter.measure(kX, 32, 32, {}));
    const std::vector<CalibrationPoint> points = meter.points(most);
    INFO(most << " at most, " << points.size() << " points");
    CHECK(!points.empty());
    CHECK(points.size() <= static_cast<size_t>(most));
    std::vector<double> shares(kX.size(), 0.0);
    for (const CalibrationPoint& point : points) {
      shares[static_cast<size_t>(point.step)] += point.share;
      if (point.step == 0) continue;  // C_0 is as the program has it
      CHECK(point.lookahead == Approx(point.to_go));
      CHECK(point.lookahead_mean == Approx(point.to_go_mean));
      CHECK(point.residual == Approx(0).margin(1e-9));
    }
    for (double share : shares) CHECK((share == 0 || share == Approx(1)));
  }
  CHECK(meter.points(0).empty());
}

TEST_CASE("calibration points are those of the definition, and only where they were asked for") {
  const ScoredHmm hmm(7);
  const auto scores = all_scores(hmm, kX);
  CalibrationMeter meter(hmm.program, hmm.parameters, true);
  REQUIRE(meter.measure(kX, 32, 32, {}));
  for (const CalibrationPoint& point : meter.points(10'000)) {
    // Of an HMM, H_t depends on y_t alone: it is that of one of the tags.
    if (point.step == 0) {
      CHECK(point.to_go == Approx(log_total(scores)));
      continue;
    }
    double nearest = INFINITY;
    for (int tag = 0; tag < kHmmTags; ++tag) {
      const double h =
          to_go_after(hmm.trans(), hmm.emit(), tag, static_cast<size_t>(point.step), 1);
      nearest = std::min(nearest, std::abs(h - point.to_go));
    }
    CHECK(nearest < 1e-9);
  }
  CalibrationMeter plain(hmm.program, hmm.parameters);
  REQUIRE(plain.measure(kX, 32, 32, {}));
  CHECK(plain.points(100).empty());
}
