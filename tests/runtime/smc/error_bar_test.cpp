#include "runtime/smc/error_bar.h"

#include <cmath>

#include "runtime/search/search.h"
#include "runtime/smc/sample.h"
#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

/// Larger weights make a model more peaked; the lookahead is the model's own, disturbed.
ScoredHmm hmm_of(double scale, double disturbance, uint64_t seed) {
  ScoredHmm hmm(seed);
  for (int64_t k = 0; k < 32; ++k) {
    const double own = hmm.parameters.values.get(32 + k),
                 model = scale * hmm.parameters.values.get(k);
    hmm.parameters.values.set(k, model);
    hmm.parameters.values.set(32 + k, model + disturbance * own);
  }
  return hmm;
}

struct Tally {
  int bars = 0, held = 0, doubtful = 0, doubtful_held = 0;
  double rate() const { return static_cast<double>(held) / bars; }
};

void add_runs(Tally& tally, const ScoredHmm& hmm, const std::vector<int>& x, double log_z,
              const SampleOptions& options, int num_runs) {
  const std::vector<SampleInput> inputs(static_cast<size_t>(num_runs), SampleInput{x, {}});
  for (const Outcome& outcome : sample(hmm.program, hmm.parameters, inputs, options)) {
    const Ensemble& run = outcome.value();
    const bool held =
        run.log_z_error.has_value() && std::abs(run.log_z - log_z) <= 1.96 * *run.log_z_error;
    if (run.certainty == Certainty::kEstimate) {
      ++tally.bars;
      tally.held += held ? 1 : 0;
    } else if (run.certainty == Certainty::kUnreliable) {
      ++tally.doubtful;
      tally.doubtful_held += held ? 1 : 0;
    }
  }
}

}  // namespace

TEST_CASE("bars that are not called unreliable hold log Z at about their nominal rate") {
  // Two models × two lookaheads × is, filter, smooth × never, ess, always, with up to 150 runs
  // each; the rates are of all of one M and one length.
  for (const int particles : {8, 16, 32, 128}) {
    for (const int length : {2, 6, 25, 100}) {
      Tally tally;
      for (const double scale : {0.5, 1.5}) {
        for (const double disturbance : {0.4, 1.0}) {
          const ScoredHmm hmm = hmm_of(scale, disturbance, 11);
          const std::vector<int> x = random_symbols(kHmmSymbols, length, 3);
          const double log_z =
              sample_finite(hmm.program, hmm.parameters, x, {.particles = 1}).log_z;
          for (const Method method : {Method::kImportance, Method::kFilter, Method::kSmooth}) {
            for (const Trigger trigger : {Trigger::kNever, Trigger::kEss, Trigger::kAlways}) {
              add_runs(tally, hmm, x, log_z,
                       {.method = method, .particles = particles, .trigger = trigger},
                       length > 50 ? 20 : 60);
            }
          }
        }
      }
      INFO("M = " << particles << ", T = " << length << ": " << tally.held << " of " << tally.bars
                  << " hold; of " << tally.doubtful << " unreliable ones " << tally.doubtful_held);
      REQUIRE(tally.bars > 100);
      // docs/output.md has 90 % as the least from M = 16 on and 84 % for M = 8, measured on other
      // models and seeds; a rate of 400 bars is known to 1.8 points at most.
      CHECK(tally.rate() >= (particles < 16 ? 0.84 : 0.90) - 2 * 0.018);
    }
  }
}

TEST_CASE("a collapsed sample is called unreliable, in words") {
  const ScoredHmm hmm = hmm_of(3, 1, 5);
  const std::vector<int> x = random_symbols(kHmmSymbols, 2000, 3);
  const double log_z = sample_finite(hmm.program, hmm.parameters, x, {.particles = 1}).log_z;
  const Ensemble run =
      filter(hmm.program, hmm.parameters, x, {.particles = 64, .trigger = Trigger::kNever});
  REQUIRE(run.ess() < 4);
  CHECK(run.log_z < log_z - 10);
  CHECK(run.certainty == Certainty::kUnreliable);
  CHECK(run.caution.starts_with("the effective sample size fell to "));
}

TEST_CASE("equal weights are no certainty") {
  ScoredHmm hmm = exact_hmm(7);
  const std::vector<int> x = random_symbols(kHmmSymbols, 9, 3);
  for (const Trigger trigger : {Trigger::kNever, Trigger::kEss, Trigger::kAlways}) {
    const Ensemble run = smooth(hmm.program, hmm.parameters, x, {.trigger = trigger});
    CHECK(run.certainty == Certainty::kNoSpread);
    CHECK(!run.caution.empty());
  }
  CHECK(smooth(hmm.program, hmm.parameters, x, {.particles = 1}).certainty == Certainty::kUnknown);
  CHECK(enumerate(hmm.program, hmm.parameters, x).certainty == Certainty::kExact);
  CHECK(sample_finite(hmm.program, hmm.parameters, x).certainty == Certainty::kExact);
  CHECK(beam(hmm.program, hmm.parameters, x).certainty == Certainty::kLowerBound);
  CHECK(smooth(hmm.program, hmm.parameters, x, {.error_bar = false}).certainty ==
        Certainty::kUnknown);
}

TEST_CASE("bars are widened as Student's t asks") {
  CHECK(student_widening(1) == Approx(12.7062 / 1.95996).epsilon(1e-4));
  CHECK(student_widening(3) == Approx(3.1824 / 1.95996).epsilon(1e-4));
  CHECK(student_widening(8) == Approx(2.3060 / 1.95996).epsilon(1e-3));
  CHECK(student_widening(30) == Approx(2.0423 / 1.95996).epsilon(1e-4));
  CHECK(student_widening(1e9) == Approx(1).epsilon(1e-6));
  for (double degrees = 1; degrees < 40; degrees += 0.25)
    CHECK(student_widening(degrees + 0.25) < student_widening(degrees));
}

TEST_CASE("few odd weights among many equal ones have few degrees of freedom") {
  const std::vector<double> weights{1, 3};
  const std::vector<int32_t> counts{99, 1};
  const WeightSpread spread = spread_of(weights, counts, 100);
  CHECK(spread.variance == Approx(0.01 * 0.99 * 4 / (1.02 * 1.02)));
  CHECK(spread.kurtosis == Approx((1 - 3 * 0.01 * 0.99) / (0.01 * 0.99)));
  const double v = spread.variance / 99;
  const ErrorBar bar = judge({.num_particles = 100,
                              .relative_variance = v,
                              .last = spread,
                              .naive_variance = v,
                              .least_share = 1 / (1 + spread.variance)});
  CHECK(*bar.error > 2 * std::sqrt(v));
  // Those that died weigh 0.
  CHECK(spread_of(std::vector<double>{1}, std::vector<int32_t>{50}, 100).variance == Approx(1));
}
