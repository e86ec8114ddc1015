// Whole models: both differentiators, all of θ and φ.
#include <scry.h>

#include <cmath>

#include "runtime/train/check.h"
#include "tests/catch.h"
#include "tests/support/lessons.h"
#include "tests/support/replay.h"
#include "tests/support/run_kernel.h"
#include "tests/support/stopping_models.h"
#include "tests/support/taggings.h"
#include "tests/support/under_sanitizer.h"

using namespace scry;
using namespace scry::test;

namespace {

Gradients gradients_of(const Program& program, const std::vector<int>& x, const std::vector<int>& y,
                       double a, double b) {
  Parameters parameters = Parameters::fresh(program, 4);
  Gradients gradients(program);
  Replay replay(program, parameters);
  replay.run(x, y);
  replay.add_gradient(gradients, a);
  replay.add_proposal_gradient(gradients, b, 0.25 * b);
  gradients.finish(program, parameters);
  return gradients;
}

/// The largest difference, relative to the larger of 1 and the gradients.
double difference(const Gradients& a, const Gradients& b) {
  double worst = 0;
  for (int64_t k = 0; k < a.values.size(); ++k) {
    const double x = a.values.get(k), y = b.values.get(k);
    if (!std::isfinite(x) || !std::isfinite(y)) return INFINITY;
    worst = std::max(worst, std::abs(x - y) / std::max({1.0, std::abs(x), std::abs(y)}));
  }
  return worst;
}

void check_lesson(const Bundle& bundle, Differentiator differentiator) {
  const Program program = compile(
      bundle,
      {.precision = Precision::kDouble, .differentiator = differentiator, .use_cache = false});
  for (int length = 1; length <= 12; length += kUnderSanitizer ? 4 : 1) {
    for (const GradientCheckRow& row : check_gradients(program, length, 1)) {
      INFO(row.differentiator << ", T = " << length << ", " << row.quantity << ", "
                              << row.worst_parameter << ": " << row.worst_error);
      CHECK(row.ok);
    }
  }
}

/// Forbids y_t = y_{t-1} = 1 by a score of -∞, and tag 0 by a probability of 0 in three ways.
struct Forbidding : Model {
  Parameter table;
  Forbidding()
      : Model({Alphabet::of("a b"), Alphabet::of("0 1 2")}, state("h", 3).and_symbol("tag", 3)),
        table(param("table", {2, 3}, Init::normal(1))) {}
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Expr h = tanh(s["h"] + table[x]), forbidden = constant({-INFINITY, 0, 0}),
               allowed = constant({0, 1, 1});
    const Expr twice = select(y == 1 && s.sym("tag") == 1, -INFINITY, h[y]);
    const Expr zero = log(normalize(exp(h) * allowed));
    return {.score = twice + log_softmax(h + forbidden)[y] + zero[y] + logsumexp(h + forbidden),
            .state = {h, y}};
  }
};
/// Forbids tag 0 too, and every tag where all candidates are forbidden.
struct ForbiddingLookahead : Proposal {
  Parameter weight;
  ForbiddingLookahead()
      : Proposal(state("b", 3)), weight(param("weight", {3, 3}, Init::normal(1))) {}
  State back(const State& later, const Input&) const override {
    return {normalize(exp(matmul(weight, later["b"])))};
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    const Expr all = softmax(s["h"] + constant({-INFINITY, -INFINITY, -INFINITY}));
    return select(s.sym("tag") == 0, -INFINITY, log(relu(dot(s["h"], later["b"])) + 1e-3)) +
           sum(all);
  }
};

}  // namespace

TEST_CASE("the adjoint's gradients of the HMM, the OOHMM and the tagger equal finite differences") {
  for (const Bundle& bundle : {lesson_01(), lesson_02(), lesson_03()})
    check_lesson(bundle, Differentiator::kAdjoint);
}

TEST_CASE("Enzyme's gradients of the HMM, the OOHMM and the tagger equal finite differences",
          "[enzyme]") {
  if (skip_without_enzyme()) return;
  for (const Bundle& bundle : {lesson_01(), lesson_02(), lesson_03()})
    check_lesson(bundle, Differentiator::kEnzyme);
}

TEST_CASE("Enzyme's gradients of every lesson equal the adjoint's", "[enzyme]") {
  if (skip_without_enzyme()) return;
  for (const Bundle& bundle : {lesson_01(), lesson_02(), lesson_03(), lesson_04(), lesson_05()}) {
    for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
      const auto program = [&](Differentiator differentiator) {
        return compile(
            bundle, {.precision = precision, .differentiator = differentiator, .use_cache = false});
      };
      const Program by_enzyme = program(Differentiator::kEnzyme),
                    by_adjoint = program(Differentiator::kAdjoint);
      const std::vector<int> x = random_input(by_enzyme.task, 9, 1),
                             y = random_tagging(by_enzyme.task, 9, 1);
      for (const auto& [a, b] : {std::pair(1.0, 0.0), std::pair(0.5, -2.0)}) {
        CHECK(
            difference(gradients_of(by_enzyme, x, y, a, b), gradients_of(by_adjoint, x, y, a, b)) <=
            (precision == Precision::kDouble ? 1e-9 : 1e-4));
      }
    }
  }
}

TEST_CASE("forbidden taggings score -∞, and neither they nor their gradients are NaN") {
  const Forbidding model;
  const ForbiddingLookahead lookahead;
  std::vector<Differentiator> differentiators{Differentiator::kAdjoint};
  if (has_enzyme()) differentiators.push_back(Differentiator::kEnzyme);
  for (const Differentiator differentiator : differentiators) {
    for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
      const Program program =
          compile(model, lookahead,
                  {.precision = precision, .differentiator = differentiator, .use_cache = false});
      Parameters parameters = Parameters::fresh(program, 3);
      Replay replay(program, parameters);
      for (const std::vector<int>& y : all_taggings(3, 4)) {
        const std::vector<int> x{0, 1, 1, 0};
        const SequenceScore score = replay.run(x, y);
        bool forbidden = false;
        for (size_t t = 0; t < y.size(); ++t)
          forbidden = forbidden || y[t] == 0 || (t > 0 && y[t] == 1 && y[t - 1] == 1);
        CHECK(std::isfinite(score.log_score) == !forbidden);
        CHECK(!std::isnan(score.log_score));
        CHECK(!std::isnan(score.log_proposal));
        Gradients gradients(program);
        replay.add_gradient(gradients, 1);
        replay.add_proposal_gradient(gradients, 1, 1);
        gradients.finish(program, parameters);
        for (int64_t k = 0; k < gradients.values.size(); ++k)
          CHECK(std::isfinite(gradients.values.get(k)));
      }
    }
  }
}

TEST_CASE("right gradients are called right where gradients are stopped") {
  const Bundle bundle{std::make_shared<StoppingTagger>(), std::make_shared<StoppingLookahead>()};
  REQUIRE(stops_gradients(bundle));
  const Program program = compile(bundle, {.precision = Precision::kDouble,
                                           .differentiator = Differentiator::kAdjoint,
                                           .use_cache = false});
  const Program held = compile(bundle, {.precision = Precision::kDouble,
                                        .gradients = false,
                                        .hold_stopped = true,
                                        .use_cache = false});
  bool differ = false;  // what a check without it would say
  for (int length : {1, 2, 5}) {
    for (const GradientCheckRow& row : check_gradients(program, length, 1, &held)) {
      INFO("T = " << length << ", " << row.quantity << ", " << row.worst_parameter << ": "
                  << row.worst_error);
      CHECK(row.ok);
      CHECK(row.left_out.empty());
    }
    for (const GradientCheckRow& row : check_gradients(program, length, 1))
      differ = differ || !row.ok;
  }
  CHECK(differ);
}

TEST_CASE("a wrong gradient beside a stopped one is still found") {
  const Bundle bundle{std::make_shared<StoppingTagger>(), nullptr};
  Program program = compile(bundle, {.precision = Precision::kDouble,
                                     .differentiator = Differentiator::kAdjoint,
                                     .use_cache = false});
  const Program held = compile(bundle, {.precision = Precision::kDouble,
                                        .gradients = false,
                                        .hold_stopped = true,
                                        .use_cache = false});
  program.start.gradient.run = [](const KernelCall*) {};  // the start state's is forgotten
  const std::vector<GradientCheckRow> rows = check_gradients(program, 2, 1, &held);
  CHECK(!rows[0].ok);
}

TEST_CASE("the maxima in softmax are no stopped gradients") {
  CHECK(!stops_gradients({std::make_shared<SmallTagger>(), std::make_shared<SmallLookahead>()}));
}

TEST_CASE("gradients are compared at a tagging that the model allows, or left out with a word") {
  const CircleModel circle;
  const Program program = compile(circle, {.precision = Precision::kDouble, .use_cache = false});
  for (int length = 1; length <= 8; ++length) {
    const GradientCheckRow row = check_gradients(program, length, 1)[0];
    CHECK(row.ok);
    CHECK(row.left_out.empty());
    CHECK(row.worst_parameter == "model.weights");
  }
  const CircleModel dead(true);
  const GradientCheckRow row = check_gradients(
      compile(dead, {.precision = Precision::kDouble, .use_cache = false}), 3, 1)[0];
  CHECK(row.left_out == "no tagging above -inf was found for 20 random inputs");
}
