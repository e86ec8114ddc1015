// The gradients' estimators against exact gradients, by enumeration.
#include <scry.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/train/conditional_likelihood.h"
#include "runtime/train/joint_likelihood.h"
#include "runtime/train/proposal_divergence.h"
#include "tests/catch.h"
#include "tests/support/exact_divergences.h"
#include "tests/support/forward_algorithm.h"
#include "tests/support/gradient_estimates.h"
#include "tests/support/lessons.h"
#include "tests/support/under_sanitizer.h"

using namespace scry;
using namespace scry::test;

TEST_CASE("the enumerated gradients of both divergences equal finite differences of them") {
  for (const Differentiator differentiator : differentiators()) {
    for (Problem& problem : problems(differentiator)) {
      const ExactDivergences here =
          exact_divergences(problem.program, problem.parameters, problem.x);
      CHECK(here.inclusive > 0.05);
      CHECK(here.exclusive > 0.05);
      for (const double lambda : {0.0, 0.5, 1.0}) {
        const Gradients exact =
            exact_gradient(problem.program, problem.parameters, problem.x, lambda);
        const auto value = [&](int64_t k, double by) {
          Parameters moved = problem.parameters;
          moved.values.add(k, by);
          moved.prepare(problem.program);
          const ExactDivergences there = exact_divergences(problem.program, moved, problem.x);
          return (1 - lambda) * there.inclusive + lambda * there.exclusive;
        };
        for (const Block& block : problem.program.params) {
          if (block.group != ParamGroup::kProposal) continue;
          for (int64_t i = 0; i < block.shape.size(); i += 1 + block.shape.size() / 7) {
            const int64_t k = block.offset + i;
            const double slope =
                (8 * (value(k, 1e-4) - value(k, -1e-4)) - (value(k, 2e-4) - value(k, -2e-4))) /
                12e-4;
            INFO(problem.name << ", λ = " << lambda << ", " << block.name << "[" << i << "]");
            CHECK(std::abs(exact.values.get(k) - slope) < 1e-7);
          }
        }
      }
    }
  }
}

// Of 16 projections one in a thousand is beyond 4 standard errors by chance, of some 300 elements
// one in 5000 beyond 5.
TEST_CASE("the estimate of the exclusive gradient is unbiased, and either baseline calms it") {
  constexpr int kDraws = kUnderSanitizer ? 300 : 1500, kCopies = 8, kParticles = 4;
  for (const Differentiator differentiator : differentiators()) {
    for (Problem& problem : problems(differentiator)) {
      const Vector exact = flatten(
          problem.program, exact_gradient(problem.program, problem.parameters, problem.x, 1),
          ParamGroup::kProposal);
      // The average is 0 until it has something to remember.
      const auto bias_of = [&](Baseline baseline, bool remembers, uint64_t seed) {
        const auto objective = make_proposal_divergence(
            {.particles = kParticles, .lambda = 1, .calibrate = 0, .baseline = baseline});
        Estimates estimates(problem, *objective, kCopies);
        return measure_bias(exact, kDraws, [&](int n) {
          const Vector estimate = estimates.draw(derive_seed(seed, static_cast<uint32_t>(n)));
          if (remembers) objective->remember(estimates.tally);
          return estimate;
        });
      };
      const Unbiasedness plain = bias_of(Baseline::kAverage, false, 1),
                         average = bias_of(Baseline::kAverage, true, 2),
                         others = bias_of(Baseline::kLeaveOneOut, false, 3);
      INFO(problem.name << ", " << problem.program.differentiator << ": " << plain.worst_direction
                        << ", " << average.worst_direction << " and " << others.worst_direction
                        << " standard errors, variance " << plain.variance << ", "
                        << average.variance << " and " << others.variance);
      for (const Unbiasedness& each : {plain, average, others}) {
        CHECK(each.worst_direction < 4);
        CHECK(each.worst_element < 5);
      }
      CHECK(average.variance < 0.5 * plain.variance);
      CHECK(others.variance < 0.5 * plain.variance);
    }
  }
}

/// What the delta method says of Σ p̂ ∇log q with one particle: the root of
/// E_q[(p/q)² |∇log q - E_p ∇log q|²].
double inclusive_scatter(Problem& problem, const Vector& exact) {
  const ExactDivergences all = exact_divergences(problem.program, problem.parameters, problem.x);
  Replay replay(problem.program, problem.parameters);
  double total = 0;
  for (size_t i = 0; i < all.ys.size(); ++i) {
    if (all.log_p[i] == -INFINITY) continue;
    Gradients gradients(problem.program);
    replay.run(problem.x, all.ys[i]);
    replay.add_proposal_gradient(gradients, -1);
    gradients.finish(problem.program, problem.parameters);
    total += std::exp(2 * all.log_p[i] - all.log_q[i]) *
             squared_distance(flatten(problem.program, gradients, ParamGroup::kProposal), exact);
  }
  return std::sqrt(total);
}

TEST_CASE("the estimate of the inclusive gradient converges to the exact one as M grows") {
  constexpr int kDraws = kUnderSanitizer ? 100 : 400, kCopies = 2;
  for (const Differentiator differentiator : differentiators()) {
    for (Problem& problem : problems(differentiator)) {
      const Vector exact = flatten(
          problem.program, exact_gradient(problem.program, problem.parameters, problem.x, 0),
          ParamGroup::kProposal);
      const double scatter = inclusive_scatter(problem, exact);
      for (const int particles : {256, 1024, 4096}) {
        const auto objective =
            make_proposal_divergence({.particles = particles, .lambda = 0, .calibrate = 0});
        Estimates estimates(problem, *objective, kCopies);
        const double error = rms_error(exact, kDraws, [&](int n) {
          return estimates.draw(derive_seed(3, static_cast<uint32_t>(n)));
        });
        const double expected = scatter / std::sqrt(particles * kCopies);
        INFO(problem.name << ", " << problem.program.differentiator << ", M = " << particles
                          << ": error " << error << ", expected " << expected << ", gradient "
                          << norm(exact));
        // The mean of 400 squared errors has a relative standard error of at most √(2/400) = 7 %,
        // so its root one of 3.5 %, where one direction has it all; 256 particles add a bias. That
        // of 100 has twice the standard error.
        CHECK(std::abs(error / expected - 1) < (kUnderSanitizer    ? 0.28
                                                : particles == 256 ? 0.25
                                                                   : 0.14));
      }
    }
  }
}

TEST_CASE("the estimate of a mixed gradient is the mixture of both estimates, draw by draw") {
  for (Problem& problem : problems(Differentiator::kAdjoint)) {
    const auto draw = [&](double lambda) {
      const auto objective = make_proposal_divergence({.particles = 16, .lambda = lambda});
      REQUIRE(objective->restore(std::vector{0.25}));
      return Estimates(problem, *objective, 3).draw(7);
    };
    const Vector inclusive = draw(0), exclusive = draw(1), mixed = draw(0.3);
    for (size_t k = 0; k < mixed.size(); ++k)
      CHECK(std::abs(0.7 * inclusive[k] + 0.3 * exclusive[k] - mixed[k]) < 1e-12);
  }
}

TEST_CASE("the likelihoods' gradients are those of Replay and enumeration, sampled or not") {
  for (const Differentiator differentiator : differentiators()) {
    for (Problem& problem : problems(differentiator)) {
      const std::vector<int> y(problem.x.size(), 1);
      Replay replay(problem.program, problem.parameters);
      const double log_score = replay.run(problem.x, y).log_score;

      Gradients joint(problem.program);
      replay.add_gradient(joint, -1);
      joint.finish(problem.program, problem.parameters);
      const Vector exact_joint = flatten(problem.program, joint, ParamGroup::kModel);
      const auto likelihood = make_joint_likelihood();
      Estimates given(problem, *likelihood, 3, y);
      CHECK(squared_distance(given.draw(0), exact_joint) < 1e-20);
      CHECK(std::abs(given.tally[Tally::kLoss] / 3 + log_score) < 1e-10);

      const ExactDivergences exact =
          exact_divergences(problem.program, problem.parameters, problem.x);
      Gradients conditional(problem.program);
      for (size_t i = 0; i < exact.ys.size(); ++i) {
        if (exact.log_p[i] == -INFINITY) continue;
        replay.run(problem.x, exact.ys[i]);
        replay.add_gradient(conditional, std::exp(exact.log_p[i]));
      }
      replay.run(problem.x, y);
      replay.add_gradient(conditional, -1);
      conditional.finish(problem.program, problem.parameters);
      const Vector exact_conditional = flatten(problem.program, conditional, ParamGroup::kModel);
      // Ẑ and Σ w ∇G are unbiased for any M, whatever is resampled. So Ẑ/Z is 1 in the mean, and
      // that times the estimate is the exact gradient.
      const auto objective =
          make_conditional_likelihood({.contrast = Contrast::kSample, .particles = 8});
      Estimates estimates(problem, *objective, 1, y);
      Moments ratio;
      const Unbiasedness bias = measure_bias(exact_conditional, 4000, [&](int n) {
        Vector estimate = estimates.draw(derive_seed(4, static_cast<uint32_t>(n)));
        const double negative_log_p =
            estimates.tally[Tally::kLoss] - estimates.tally[Tally::kOvershoot];
        ratio.add(std::exp(negative_log_p + log_score - exact.log_z) - 1);
        for (double& d : estimate) d *= ratio.last + 1;
        return estimate;
      });
      INFO(problem.name << ", " << problem.program.differentiator << ": Ẑ/Z - 1 is " << ratio.mean
                        << " ± " << ratio.standard_error() << ", the gradient is off by "
                        << bias.worst_direction << " standard errors");
      CHECK(ratio.standard_error() < 0.05);
      CHECK(std::abs(ratio.mean) < 4 * ratio.standard_error());
      CHECK(bias.worst_direction < 4);
    }
  }
}

TEST_CASE("with the exact lookahead of an HMM, log p(y | x) is exact for any number of particles") {
  for (const Differentiator differentiator : differentiators()) {
    Problem problem{
        "HMM",
        compile(lesson_01(), {.precision = Precision::kDouble, .differentiator = differentiator}),
        Parameters(Program{}),
        {2, 0, 1, 1, 2, 0, 2}};
    problem.parameters = Parameters::fresh(problem.program, 3);
    const std::vector<int> y{1, 0, 0, 1, 1, 0, 1};
    const double log_z = hmm_log_z(problem.program, problem.parameters, problem.x);
    const double log_score =
        Replay(problem.program, problem.parameters).run(problem.x, y).log_score;
    const TrainExample example{problem.x, y, 0};
    for (const Contrast contrast :
         {Contrast::kRanking, Contrast::kDiscrete, Contrast::kSmc, Contrast::kSample}) {
      for (const int particles : {1, 2, 7}) {
        const auto worker =
            make_conditional_likelihood({.contrast = contrast, .particles = particles})
                ->make_worker(problem.program, problem.parameters);
        for (uint64_t seed = 0; seed < 3; ++seed) {
          Tally tally, measured;
          Gradients gradients(problem.program);
          worker->add_gradient({&example, 1}, seed, 1, gradients, tally);
          CHECK(std::abs(tally[Tally::kLoss] - (log_z - log_score)) < 1e-9);
          CHECK(std::abs(tally[Tally::kNegativeLogP] - (log_z - log_score)) < 1e-9);
          if (contrast != Contrast::kDiscrete) CHECK(std::abs(tally[Tally::kEss] - 1) < 1e-9);
          CHECK(tally[Tally::kOvershot] == 0);
          worker->measure({&example, 1}, seed, measured);
          CHECK(std::abs(measured[Tally::kNegativeLogP] - (log_z - log_score)) < 1e-9);
          CHECK(std::abs(measured[Tally::kGap]) < 1e-9);
          CHECK(std::abs(measured[Tally::kDrift]) < 1e-9);
        }
      }
    }
  }
}

TEST_CASE("a tagging that scores above the estimated log Z counts as certain, and is counted") {
  int64_t num_overshot = 0, num_runs = 0;
  for (Problem& problem : problems(Differentiator::kAdjoint)) {
    // The best tagging against one particle of a lookahead that is sure of others.
    for (const Block& block : problem.program.params) {
      if (block.group != ParamGroup::kProposal) continue;
      for (int64_t k = block.offset; k < block.offset + block.shape.size(); ++k)
        problem.parameters.values.set(k, 6 * problem.parameters.values.get(k));
    }
    problem.parameters.prepare(problem.program);
    const ExactDivergences exact =
        exact_divergences(problem.program, problem.parameters, problem.x);
    const size_t best = static_cast<size_t>(
        std::max_element(exact.log_p.begin(), exact.log_p.end()) - exact.log_p.begin());
    const double log_score = exact.log_p[best] + exact.log_z;
    const TrainExample example{problem.x, exact.ys[best], 0};
    const auto worker = make_conditional_likelihood({.contrast = Contrast::kSample, .particles = 1})
                            ->make_worker(problem.program, problem.parameters);
    Gradients gradients(problem.program);
    for (uint32_t n = 0; n < 300; ++n, ++num_runs) {
      Tally tally;
      worker->add_gradient({&example, 1}, derive_seed(8, n), 1, gradients, tally);
      const double log_z =
          sample(problem.program, problem.parameters, problem.x,
                 {.method = Method::kSmooth, .particles = 1, .seed = derive_seed(8, n)})
              .log_z;
      const double overshoot = log_score - log_z;
      const bool is_over = overshoot > score_slack(static_cast<int>(problem.x.size()));
      CHECK(tally[Tally::kOvershot] == (is_over ? 1 : 0));
      CHECK(std::abs(tally[Tally::kOvershoot] - (is_over ? overshoot : 0)) < 1e-9);
      CHECK(std::abs(tally[Tally::kNegativeLogP] - std::max(0.0, -overshoot)) < 1e-9);
      num_overshot += tally.count(Tally::kOvershot);
    }
  }
  CHECK(num_overshot > 30);
  CHECK(num_overshot < num_runs - 30);
}

TEST_CASE("a likelihood above 1 is an error that names the example and what to do") {
  const SmallTagger upside_down(small_task(), 5, -2);  // its scores are -2 log p
  const Program program = compile(upside_down, {.precision = Precision::kDouble});
  const Parameters parameters = Parameters::fresh(program, 3);
  const auto worker = make_joint_likelihood()->make_worker(program, parameters);
  const std::vector<int> x{1, 3}, y{1, 2};
  const TrainExample example{x, y, 41};
  Tally tally;
  try {
    worker->measure({&example, 1}, 0, tally);
    FAIL("it was not noticed");
  } catch (const ExampleError& error) {
    CHECK(error.number() == 41);
    CHECK_THAT(error.message(), Catch::StartsWith("its likelihood would be exp(") &&
                                    Catch::EndsWith("fit it by --objective conditional"));
  }
}

TEST_CASE("what training reports are the divergences it minimizes") {
  constexpr int kParticles = 20000;
  for (Problem& problem : problems(Differentiator::kAdjoint)) {
    const ExactDivergences exact =
        exact_divergences(problem.program, problem.parameters, problem.x);
    // The variance of an estimate is E_q of its influence function squared, over M (the delta
    // method); what it leaves out is of the order of E_q[(p/q)²]/M. Of r = p/q: log Ẑ has r - 1,
    // the exclusive divergence -log r - KL, the inclusive one r (log r - KL) - (r - 1).
    const auto error_of = [&](auto influence) {
      double variance = 0, squares = 0;
      for (size_t i = 0; i < exact.ys.size(); ++i) {
        const double q = std::exp(exact.log_q[i]), log_r = exact.log_p[i] - exact.log_q[i];
        if (q == 0) continue;
        variance += q * std::pow(influence(std::exp(log_r), log_r), 2);
        squares += q * std::exp(2 * log_r);
      }
      return 4 * std::sqrt(variance / kParticles) + squares / kParticles;
    };
    const auto mean_d = [&](double, double log_r) { return -log_r - exact.exclusive; };
    const auto kl = [&](double r, double log_r) { return mean_d(r, log_r) + r - 1; };
    for (const double lambda : {0.0, 0.5, 1.0}) {
      const auto objective =
          make_proposal_divergence({.particles = kParticles, .lambda = lambda, .calibrate = 0});
      const auto worker = objective->make_worker(problem.program, problem.parameters);
      const TrainExample example{problem.x, {}, 0};
      Tally tally;
      worker->measure({&example, 1}, 5, tally);
      INFO(problem.name << ", λ = " << lambda);
      CHECK(std::abs(tally["divergence"] - (exact.exclusive - exact.log_z)) < error_of(mean_d));
      CHECK(std::abs(tally[Tally::kKl] - exact.exclusive) < error_of(kl));
      const double loss = (1 - lambda) * exact.inclusive + lambda * exact.exclusive;
      CHECK(std::abs(tally[Tally::kLoss] - loss) < error_of([&](double r, double log_r) {
              return (1 - lambda) * (r * (log_r - exact.inclusive) - (r - 1)) +
                     lambda * kl(r, log_r);
            }));
      CHECK(tally[Tally::kEss] > 0);
      CHECK(tally[Tally::kEss] <= 1);
      CHECK(tally[Tally::kRows] < tally[Tally::kParticleSteps]);
    }
  }
}
