// Discrete sets, resampling before the draw, arithmetic draws and score weights, on compiled
// models.
#include <scry.h>

#include <Eigen/Core>
#include <cmath>

#include "tests/catch.h"
#include "tests/support/forward_algorithm.h"
#include "tests/support/neural_problems.h"
#include "tests/support/under_sanitizer.h"

using namespace scry;
using namespace scry::test;

namespace {

constexpr int kRounds = kUnderSanitizer ? 2 : 20;

/// The mean of Ẑ / Z over 500 runs for each of kRounds seeds is 1, within 4 standard errors.
void check_unbiased(const NeuralProblem& problem, const SampleOptions& options) {
  std::vector<double> ratios;
  for (const Outcome& run : repeat(problem, options, kRounds, 500))
    ratios.push_back(ratio(run, problem.exact.log_z));
  const Mean mean = mean_of(ratios);
  CHECK(ratios.size() == kRounds * 500);
  CHECK(mean.standard_error > 1e-9);
  CHECK(std::abs(mean.value - 1) <= 4 * mean.standard_error);
}

/// The variance of log Ẑ over 500 runs.
double variance_of_log_z(const NeuralProblem& problem, const SampleOptions& options) {
  std::vector<double> values;
  for (const Outcome& run : repeat(problem, options, 1, 500)) values.push_back(run.value().log_z);
  const double error = mean_of(values).standard_error;
  return error * error * 500;
}

}  // namespace

TEST_CASE("the estimate of Z by a discrete set is unbiased, with and without the lookahead") {
  for (const NeuralProblem& problem : problems()) {
    for (Method method : {Method::kDiscrete, Method::kDiscreteAhead}) {
      for (int particles : {1, 2, 6}) {
        INFO(problem.name << ", method " << static_cast<int>(method) << ", M = " << particles);
        check_unbiased(problem, {.method = method, .particles = particles});
      }
    }
  }
}

TEST_CASE("the estimate of Z is unbiased by arithmetic draws") {
  for (const NeuralProblem& problem : problems()) {
    for (Method method : {Method::kImportance, Method::kFilter, Method::kSmooth}) {
      for (int particles : {1, 6}) {
        INFO(problem.name << ", method " << static_cast<int>(method) << ", M = " << particles);
        check_unbiased(problem,
                       {.method = method, .particles = particles, .draws = Draws::kArithmetic});
      }
    }
  }
}

TEST_CASE("the estimate of Z is unbiased if it is resampled after the draw") {
  for (const NeuralProblem& problem : problems()) {
    for (Method method : {Method::kFilter, Method::kSmooth}) {
      for (Resampling scheme : {Resampling::kMultinomial, Resampling::kSystematic}) {
        INFO(problem.name << ", method " << static_cast<int>(method));
        check_unbiased(problem, {.method = method,
                                 .particles = 6,
                                 .resampling = scheme,
                                 .resample_at = ResampleAt::kAfter,
                                 .trigger = Trigger::kAlways});
      }
    }
  }
}

TEST_CASE("a discrete set has less variance than as many particles that see no more") {
  for (const NeuralProblem& problem : problems()) {
    const double filtered =
        variance_of_log_z(problem, {.method = Method::kFilter, .particles = 16});
    const double reduced =
        variance_of_log_z(problem, {.method = Method::kDiscrete, .particles = 16});
    INFO(problem.name << ": " << reduced << " and " << filtered);
    CHECK(reduced < filtered);
  }
}

TEST_CASE("arithmetic draws give every tag its share, up to one particle") {
  // At the first step there is one row: each tag gets M q of them, rounded down or up.
  for (const NeuralProblem& problem : problems()) {
    const std::vector<int> first(problem.x.begin(), problem.x.begin() + 1);
    const Ensemble all = enumerate(problem.program, problem.parameters, first);
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const Ensemble drawn = filter(problem.program, problem.parameters, first,
                                    {.particles = 50, .draws = Draws::kArithmetic, .seed = seed});
      for (size_t i = 0; i < all.size(); ++i) {
        int count = 0;
        for (size_t k = 0; k < drawn.size(); ++k)
          count += drawn.tags[k] == all.tags[i] ? drawn.counts[k] : 0;
        CHECK(std::abs(count - 50 * all.probability(i)) < 1 + 1e-6);
      }
    }
    CHECK(variance_of_log_z(
              problem, {.method = Method::kSmooth, .particles = 32, .draws = Draws::kArithmetic}) <
          variance_of_log_z(
              problem, {.method = Method::kSmooth, .particles = 32, .trigger = Trigger::kNever}));
  }
}

TEST_CASE("arithmetic draws say that one run tells no error, and are never resampled") {
  const NeuralProblem problem = problems()[0];
  const auto draw = [&](Trigger trigger) {
    return smooth(problem.program, problem.parameters, problem.x,
                  {.particles = 8, .trigger = trigger, .draws = Draws::kArithmetic});
  };
  const Ensemble drawn = draw(Trigger::kAuto);
  CHECK(drawn.info.draws == "arithmetic");
  CHECK(drawn.info.resampling == "never");
  CHECK(drawn.certainty == Certainty::kUnknown);
  CHECK(!drawn.log_z_error);
  CHECK(drawn.caution.find("--runs") != std::string::npos);
  for (Trigger trigger : {Trigger::kEss, Trigger::kAlways})
    CHECK_THROWS_WITH(draw(trigger),
                      "arithmetic draws cannot be resampled; set the trigger to kNever");
}

TEST_CASE("with the exact proposal a discrete set has Z in every run, for every M") {
  const auto check = [](const Bundle& bundle, auto log_z) {
    const Program program = compile(bundle, {.precision = Precision::kDouble, .gradients = false});
    const Parameters parameters = Parameters::fresh(program, 5);
    for (int length : {1, 2, 5, 20, 60}) {
      const std::vector<int> x = random_input(program.task, length, 11);
      const double exact = log_z(program, parameters, x);
      const std::vector<SampleInput> inputs(10, SampleInput{x});
      for (int particles : {1, 2, 8, 33, 128, 1000}) {
        for (const Outcome& run :
             sample(program, parameters, inputs,
                    {.method = Method::kDiscreteAhead, .particles = particles}))
          CHECK(std::abs(run.value().log_z - exact) <= 1e-9);
      }
    }
  };
  check(lesson_01(), hmm_log_z);
  check(lesson_02(), oohmm_log_z);
}

TEST_CASE("score weights are the nearest to the model on the same taggings") {
  for (const NeuralProblem& problem : problems()) {
    for (Method method : {Method::kFilter, Method::kSmooth, Method::kDiscreteAhead}) {
      for (double temperature : {1.0, 0.7}) {
        SampleOptions options{.method = method, .particles = 8, .temperature = temperature};
        const double log_z =
            enumerate(problem.program, problem.parameters, problem.x, options).log_z;
        const Ensemble own = sample(problem.program, problem.parameters, problem.x, options);
        options.weights = Weights::kScore;
        const Ensemble scored = sample(problem.program, problem.parameters, problem.x, options);
        CHECK(own.info.weights == "sampler");
        CHECK(scored.info.weights == "score");
        CHECK(scored.size() == own.size());
        CHECK(!scored.has_counts());
        CHECK(scored.log_z == own.log_z);
        CHECK(scored.log_z_error == own.log_z_error);
        CHECK(scored.certainty == own.certainty);
        CHECK(log_sum_exp(scored.log_weights) == Approx(own.log_z).epsilon(1e-12));
        CHECK(kl_divergence(scored, log_z) <= kl_divergence(own, log_z) + 1e-12);
        for (size_t i = 1; i < scored.size(); ++i) {
          CHECK(scored.log_weights[i] - scored.log_weights[0] ==
                Approx((scored.log_scores[i] - scored.log_scores[0]) / temperature).margin(1e-9));
        }
        const SampleInput input{problem.x};
        const Ensemble pooled =
            sample_runs(problem.program, problem.parameters, std::span(&input, 1), options, 3)[0]
                .value();
        CHECK(pooled.info.weights == "score");
        CHECK(pooled.size() >= scored.size());
        CHECK(log_sum_exp(pooled.log_weights) == Approx(pooled.log_z).epsilon(1e-12));
      }
    }
  }
}
