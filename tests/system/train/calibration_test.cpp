// The calibrated objective against enumeration, and what it makes of a lookahead.
#include <scry.h>

#include <cmath>

#include "runtime/train/forest_sampler.h"
#include "runtime/train/proposal_divergence.h"
#include "tests/catch.h"
#include "tests/support/exact_divergences.h"
#include "tests/support/forward_algorithm.h"
#include "tests/support/gradient_estimates.h"
#include "tests/support/lessons.h"
#include "tests/support/under_sanitizer.h"

using namespace scry;
using namespace scry::test;

namespace {

/// A sample on a forest, with what calibration needs of it.
struct Sampled {
  Sampled(const Program& program, const Parameters& parameters,
          const std::vector<std::vector<int>>& xs, int particles, uint64_t seed, int64_t memory = 0)
      : sampler(program, parameters,
                {.method = Method::kSmooth,
                 .particles = particles,
                 .trigger = Trigger::kNever,
                 .error_bar = false,
                 .memory = memory},
                true) {
    for (size_t i = 0; i < xs.size(); ++i) examples.push_back({xs[i], {}, static_cast<int64_t>(i)});
    run = &sampler.run(examples, seed, true);
    for (const Recording::Final& final : run->finals) {
      const auto& sample = sampler.sample(static_cast<size_t>(final.sequence));
      shares.push_back(final.count / static_cast<double>(sample.num_live));
    }
    residuals = measure_residuals(sampler.batch(), *run, shares);
  }
  ForestSampler sampler;
  std::vector<TrainExample> examples;
  const Recording* run;
  std::vector<double> shares;
  Residuals residuals;
};

std::vector<std::vector<int>> some_inputs(const Task& task) {
  std::vector<std::vector<int>> xs;
  for (const int length : {9, 5, 5, 2, 1}) xs.push_back(random_input(task, length, 3));
  return xs;
}

Tally measure(const Program& program, const Parameters& parameters,
              const std::vector<std::vector<int>>& xs, const DivergenceOptions& options) {
  const auto objective = make_proposal_divergence(options);
  std::vector<TrainExample> examples;
  for (size_t i = 0; i < xs.size(); ++i) examples.push_back({xs[i], {}, static_cast<int64_t>(i)});
  Tally tally;
  objective->make_worker(program, parameters)->measure(examples, 9, tally);
  return tally;
}

}  // namespace

TEST_CASE("the gradient of the calibrated objective equals finite differences of it") {
  constexpr double kMu = 0.7, kLambda = 0.4;
  for (const Differentiator differentiator : differentiators()) {
    std::vector<Problem> exact = problems(differentiator),
                         rounded = problems(differentiator, Precision::kFloat);
    for (size_t p = 0; p < exact.size(); ++p) {
      Problem& problem = exact[p];
      // The same numbers in both precisions.
      for (int64_t k = 0; k < problem.parameters.values.size(); ++k)
        problem.parameters.values.set(k, rounded[p].parameters.values.get(k));
      problem.parameters.prepare(problem.program);
      const Program& program = problem.program;
      std::vector<double> shares;  // q, which is held as it is
      for (const double log_q : exact_divergences(program, problem.parameters, problem.x).log_q)
        shares.push_back(std::exp(log_q));
      const auto value = [&](int64_t k, double by) {
        Parameters moved = problem.parameters;
        moved.values.add(k, by);
        moved.prepare(program);
        const ExactDivergences there = exact_divergences(program, moved, problem.x);
        return (1 - kLambda) * there.inclusive + kLambda * there.exclusive +
               kMu * AllTaggings(program, moved, problem.x).mean_square(shares);
      };
      CHECK(AllTaggings(program, problem.parameters, problem.x).mean_square(shares) > 0.05);
      const Gradients in_double =
          exact_gradient(program, problem.parameters, problem.x, kLambda, kMu);
      const Gradients in_float =
          exact_gradient(rounded[p].program, rounded[p].parameters, problem.x, kLambda, kMu);
      for (const Block& block : program.params) {
        if (block.group != ParamGroup::kProposal) continue;
        for (int64_t i = 0; i < block.shape.size(); i += 1 + block.shape.size() / 7) {
          const int64_t k = block.offset + i;
          const double slope =
              (8 * (value(k, 1e-4) - value(k, -1e-4)) - (value(k, 2e-4) - value(k, -2e-4))) / 12e-4;
          INFO(problem.name << ", " << program.differentiator << ", " << block.name << "[" << i
                            << "]");
          CHECK(std::abs(in_double.values.get(k) - slope) < 1e-7);
          CHECK(std::abs(in_float.values.get(k) - slope) < 2e-5 * std::max(1.0, std::abs(slope)));
        }
      }
    }
  }
}

// The bounds are those of the same test of the divergence alone.
TEST_CASE("the estimate of the calibrated gradient is unbiased") {
  constexpr int kDraws = kUnderSanitizer ? 300 : 1500;
  for (const Differentiator differentiator : differentiators()) {
    for (Problem& problem : problems(differentiator)) {
      const Vector exact = flatten(
          problem.program, exact_gradient(problem.program, problem.parameters, problem.x, 1, 2),
          ParamGroup::kProposal);
      for (const int particles : {1, 4}) {
        const auto objective =
            make_proposal_divergence({.particles = particles, .lambda = 1, .calibrate = 2});
        Estimates estimates(problem, *objective, 8);
        const Unbiasedness bias = measure_bias(exact, kDraws, [&](int n) {
          return estimates.draw(derive_seed(5, static_cast<uint32_t>(n)));
        });
        INFO(problem.name << ", " << problem.program.differentiator << ", M = " << particles << ": "
                          << bias.worst_direction << " standard errors");
        CHECK(bias.worst_direction < 4);
        CHECK(bias.worst_element < 5);
      }
    }
  }
}

TEST_CASE("an exact lookahead has r_t = 0 at every prefix, and C_0 + Ĥ_0 = log Z") {
  for (const bool is_hmm : {true, false}) {
    const Program program =
        compile(is_hmm ? lesson_01() : lesson_02(), {.precision = Precision::kDouble});
    const Parameters parameters = Parameters::fresh(program, 7);
    const auto xs = some_inputs(program.task);
    const Sampled sampled(program, parameters, xs, 64, 1);
    for (const double r : sampled.residuals.of_row) CHECK(std::abs(r) < 1e-9);
    for (const double mean : sampled.residuals.mean_squares) CHECK(mean < 1e-18);
    const Tally tally = measure(program, parameters, xs, {.particles = 4});
    CHECK(tally.count(Tally::kCalibrated) == static_cast<int64_t>(xs.size()));
    CHECK(tally.residual_rms() < 1e-9);
    CHECK(tally.to_go_rmse() < 1e-9);
  }
}

TEST_CASE("along every particle log w_T = C_0 + Ĥ_0 - Σ r_t, and squares are averaged by counts") {
  for (const Precision precision : {Precision::kDouble, Precision::kFloat}) {
    for (Problem& problem : problems(Differentiator::kAdjoint, precision)) {
      constexpr int kParticles = 50;
      const auto xs = some_inputs(problem.program.task);
      const Sampled sampled(problem.program, problem.parameters, xs, kParticles, 2);
      const Forest& forest = sampled.run->forest;
      const Batch& batch = sampled.sampler.batch();
      std::vector<double> squares(xs.size(), 0.0);
      for (const Recording::Final& final : sampled.run->finals) {
        double sum = 0;
        for (RowId row = forest.parent(final.row); row >= 0; row = forest.parent(row)) {
          const double r = sampled.residuals.of_row[static_cast<size_t>(row)];
          sum += r;
          squares[static_cast<size_t>(final.sequence)] +=
              r * r * final.count / kParticles / batch.length(final.sequence);
        }
        const double log_w = final.log_weight + std::log(kParticles / double(final.count));
        const double expected = batch.root_compat(final.sequence) + batch.to_go(final.sequence, 0);
        CHECK(std::abs(log_w - (expected - sum)) < (precision == Precision::kDouble ? 1e-9 : 1e-4));
      }
      double total = 0;
      for (size_t s = 0; s < xs.size(); ++s) {
        CHECK(sampled.residuals.mean_squares[s] == Approx(squares[s]));
        total += squares[s] / static_cast<double>(xs.size());
      }
      CHECK(total > 0.01);
    }
  }
}

TEST_CASE(
    "r_t is the same to the bit in memory that keeps no cells, and looks at a row at a time") {
  for (Problem& problem : problems(Differentiator::kAdjoint, Precision::kFloat)) {
    const auto xs = some_inputs(problem.program.task);
    const Sampled roomy(problem.program, problem.parameters, xs, 30, 2),
        narrow(problem.program, problem.parameters, xs, 30, 2, 1);
    CHECK(roomy.run->levels.front().first_cells == 0);
    CHECK(narrow.run->levels.front().first_cells == -1);
    CHECK(roomy.run->log_sums == narrow.run->log_sums);
    CHECK(roomy.residuals.of_row == narrow.residuals.of_row);
  }
}

TEST_CASE("without calibration the gradient is that of the divergence, and r_t is still measured") {
  for (Problem& problem : problems(Differentiator::kAdjoint)) {
    const auto draw = [&](double mu, Tally& tally) {
      const auto objective = make_proposal_divergence({.particles = 8, .calibrate = mu});
      Estimates estimates(problem, *objective, 3);
      const Vector gradient = estimates.draw(7);
      tally = estimates.tally;
      return gradient;
    };
    Tally without, with, twice;
    const Vector none = draw(0, without), once = draw(1, with), double_mu = draw(2, twice);
    for (size_t k = 0; k < none.size(); ++k)
      CHECK(std::abs(double_mu[k] - once[k] - (once[k] - none[k])) < 1e-11);
    CHECK(norm(once) != norm(none));
    CHECK(std::isnan(without.residual_rms()));
    CHECK(with.residual_rms() > 0);
    CHECK(with[Tally::kLoss] ==
          Approx(without[Tally::kLoss] + with[Tally::kResidual]).epsilon(1e-12));
    CHECK(twice[Tally::kLoss] ==
          Approx(without[Tally::kLoss] + 2 * with[Tally::kResidual]).epsilon(1e-12));
    const Tally measured =
        measure(problem.program, problem.parameters, {problem.x}, {.particles = 8, .calibrate = 0});
    CHECK(measured.residual_rms() > 0);
    CHECK(measured.to_go_rmse() > 0);
  }
}

namespace {

/// ½ of the tags lead nowhere two steps later, C is -∞ for some that may go on, and h is -∞ on one
/// symbol.
struct Narrow : Model {
  Parameter score;
  Narrow()
      : Model(small_task(3, 3), symbol_state("tag", 3)),
        score(param("score", {3, 3}, Init::normal(1))) {}
  Step step(const State& s, const Input& x, const Sym& y) const override {
    return {.score = select(s.sym("tag") == 2 && y != 1, -INFINITY,
                            select(s.sym("tag") == 1 && x == 1, -INFINITY, score[x][y])),
            .state = {y}};
  }
};
struct NarrowLookahead : Proposal {
  Parameter weight;
  NarrowLookahead() : Proposal(state("b", 3)), weight(param("weight", {3, 3}, Init::normal(1))) {}
  State back(const State& later, const Input& x) const override {
    return {tanh(later["b"] + weight[x])};
  }
  Expr to_go(const State& later, const Input& x) const override {
    return select(x == 2, -INFINITY, sum(later["b"] * weight[x]));
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return select(s.sym("tag") == 0, -INFINITY, later["b"][s.sym("tag")]);
  }
};

}  // namespace

TEST_CASE("what is -inf has no r_t and no gradient, and makes no NaN") {
  const Narrow model;
  const NarrowLookahead lookahead;
  for (const Differentiator differentiator : differentiators()) {
    const Program program = compile(
        model, lookahead, {.precision = Precision::kDouble, .differentiator = differentiator});
    const Parameters parameters = Parameters::fresh(program, 4);
    std::vector<std::vector<int>> xs{
        {0, 0, 2, 0, 0, 1}, {0, 0, 0, 1, 0}, {0, 2, 0}, {0, 0}, {2}, {0}};
    const Sampled sampled(program, parameters, xs, 16, 3);
    const auto& squares = sampled.residuals.mean_squares;
    for (const double r : sampled.residuals.of_row) CHECK(std::isfinite(r));
    // C_0 is -∞ everywhere, as s₀ has tag 0, and Ĥ is left of the symbol 2.
    CHECK(std::isnan(squares[4]));
    CHECK(std::isnan(squares[5]));
    CHECK(std::isfinite(squares[0]));
    CHECK(std::isfinite(squares[3]));
    const auto objective = make_proposal_divergence({.particles = 16, .calibrate = 1});
    const auto worker = objective->make_worker(program, parameters);
    Gradients gradients(program);
    Tally tally;
    worker->add_gradient(sampled.examples, 3, 1, gradients, tally);
    gradients.finish(program, parameters);
    for (int64_t k = 0; k < gradients.values.size(); ++k)
      CHECK(std::isfinite(gradients.values.get(k)));
    CHECK(std::isfinite(tally[Tally::kLoss]));
    CHECK(tally.count(Tally::kCalibrated) == 0);
    CHECK(std::isnan(tally.residual_rms()));
  }
}

namespace {
struct NotANumberToGo : SmallLookahead {
  using SmallLookahead::SmallLookahead;
  Expr to_go(const State& later, const Input&) const override {
    return log(sum(later["later"]) * 0.0 - 1);
  }
};
}  // namespace

TEST_CASE("a to_go that is not a number is an error that names the example and the step") {
  const SmallTagger tagger;
  const NotANumberToGo lookahead;
  const Program program = compile(tagger, lookahead);
  const Parameters parameters = Parameters::fresh(program, 4);
  CHECK_THROWS_WITH(measure(program, parameters, {{1, 2, 3}}, {}),
                    "the lookahead's score to go of example 1 at step 3 is nan");
}

TEST_CASE("the leave-one-out baseline is that of single particles, however many share a tagging") {
  constexpr uint64_t kSeed = 17;
  for (Problem& problem : problems(Differentiator::kAdjoint)) {
    for (const int particles : {2, 7, 64}) {
      const auto objective =
          make_proposal_divergence({.particles = particles, .lambda = 1, .calibrate = 0});
      const Vector estimate = Estimates(problem, *objective, 1).draw(kSeed);
      const Ensemble ensemble = sample(problem.program, problem.parameters, problem.x,
                                       {.method = Method::kSmooth,
                                        .particles = particles,
                                        .trigger = Trigger::kNever,
                                        .seed = kSeed});
      std::vector<double> d;
      std::vector<size_t> tagging;
      for (size_t i = 0; i < ensemble.size(); ++i) {
        for (int copy = 0; copy < ensemble.count(i); ++copy) {
          d.push_back(-ensemble.particle_log_weight(i));
          tagging.push_back(i);
        }
      }
      REQUIRE(static_cast<int>(d.size()) == particles);
      Gradients gradients(problem.program);
      Replay replay(problem.program, problem.parameters);
      for (size_t m = 0; m < d.size(); ++m) {
        double others = 0;
        for (size_t other = 0; other < d.size(); ++other) others += other == m ? 0 : d[other];
        const auto tags = ensemble.sequence(tagging[m]);
        replay.run(problem.x, std::vector<int>(tags.begin(), tags.end()));
        replay.add_proposal_gradient(gradients, (d[m] - others / (particles - 1)) / particles);
      }
      gradients.finish(problem.program, problem.parameters);
      const Vector expected = flatten(problem.program, gradients, ParamGroup::kProposal);
      CHECK(squared_distance(estimate, expected) < 1e-20 * (1 + norm(expected)));
    }
  }
}

TEST_CASE("a single particle has no others: its baseline is the moving average") {
  for (Problem& problem : problems(Differentiator::kAdjoint)) {
    const auto draw = [&](Baseline baseline) {
      const auto objective = make_proposal_divergence({.particles = 1, .baseline = baseline});
      REQUIRE(objective->restore(std::vector{3.5}));
      return Estimates(problem, *objective, 2).draw(3);
    };
    CHECK(draw(Baseline::kLeaveOneOut) == draw(Baseline::kAverage));
  }
}
