// -∞ is a legal score. It makes no NaN, in values or gradients, by either differentiator.
#include <cmath>
#include <functional>
#include <limits>

#include "compiler/adjoint.h"
#include "compiler/passes.h"
#include "tests/catch.h"
#include "tests/support/expr_graph.h"
#include "tests/support/graph_builder.h"
#include "tests/support/random_values.h"
#include "tests/support/run_kernel.h"

using namespace scry;
using namespace scry::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kSize = 4, kTags = 3;
using Rows = std::vector<std::vector<double>>;

/// A function of a vector a (one row per prefix), of a symbol k per prefix and of the tag y.
struct Case {
  std::string name;
  std::function<Expr(const Expr& a, const Sym& k, const Sym& y)> function;
  Rows rows;
};

/// Scores of which none, some, one or all are forbidden, or which are very far apart.
const Rows kScores{{0.5, -1, 2, 0.25},           {0.5, -kInf, 2, -kInf}, {-kInf, -kInf, -kInf, 3},
                   {-kInf, -kInf, -kInf, -kInf}, {1e4, -1e4, 0, 5},      {-1e4, -1e4, -kInf, -1e4}};
/// Without ties for the largest.
const Rows kUnequal{kScores.begin(), kScores.begin() + 3};
/// Probabilities with zeros.
const Rows kWeights{{0.5, 0.25, 1, 2}, {0, 0.5, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 0}};
const Rows kFar{
    {1e4, -1e4, 100, -100}, {kInf, -kInf, 0, 1}, {88, -88, 1e30, -1e30}, {709, -709, 30, -30}};

std::vector<Case> cases() {
  using E = const Expr&;
  using S = const Sym&;
  const Expr mask = constant({0, -kInf, -kInf, 0});
  return {
      {"logsumexp", [](E a, S, S) { return logsumexp(a); }, kScores},
      {"softmax", [](E a, S, S) { return softmax(a); }, kScores},
      {"log_softmax", [](E a, S, S) { return log_softmax(a); }, kScores},
      {"log_softmax at a tag", [](E a, S, S y) { return log_softmax(a)[y]; }, kScores},
      {"log_softmax of rows",
       [](E a, S, S) {
         return log_softmax(reshape(a, {2, 2}));
       },
       kScores},
      {"logsumexp of log_softmax", [](E a, S, S) { return logsumexp(log_softmax(a)); }, kScores},
      {"the largest of log_softmax", [](E a, S, S) { return max_of(log_softmax(a)); }, kUnequal},
      {"attention",
       [](E a, S, S) {
         return dot(softmax(a), constant({1, 2, 3, 4}));
       },
       kScores},
      {"masked scores", [=](E a, S k, S) { return log_softmax(a + mask)[k]; }, kWeights},
      {"scores added up", [](E a, S, S y) { return a[y] + log_softmax(a)[y] + logsumexp(a); },
       kScores},
      {"exp", [](E a, S, S) { return exp(min(a, 50.0)); }, kScores},
      {"probabilities", [](E a, S, S) { return normalize(exp(min(a, 50.0))); }, kScores},
      {"log", [](E a, S, S) { return log(a); }, kWeights},
      {"log of a sum",
       [](E a, S, S) {
         return log(sum(a * constant({1, 0, 1, 0})));
       },
       kWeights},
      {"sqrt", [](E a, S, S) { return sqrt(a); }, kWeights},
      {"normalize", [](E a, S, S) { return normalize(a); }, kWeights},
      {"log of normalize", [](E a, S, S) { return log(normalize(a)); }, kWeights},
      {"ratio", [](E a, S, S) { return ratio(a, a * 2); }, kWeights},
      {"select", [](E a, S k, S) { return select(k == 0, exp(a), a - kInf); }, kWeights},
      {"select between log and 0", [](E a, S k, S) { return select(k == 0, log(a), 0.0); },
       kWeights},
      {"if_greater", [](E a, S, S) { return if_greater(a, 0.0, log(a), -kInf); }, kWeights},
      {"max with a forbidden score", [](E a, S, S) { return max(a, -kInf) + min(a, kInf); },
       kWeights},
      {"sigmoid", [](E a, S, S) { return sigmoid(a); }, kFar},
      {"tanh", [](E a, S, S) { return tanh(a); }, kFar},
      {"softplus", [](E a, S, S) { return softplus(a); }, kFar},
      {"relu", [](E a, S, S) { return relu(a); }, kFar},
      {"a gate far out", [](E a, S, S) { return sigmoid(a) * tanh(a) + sigmoid(-a); }, kFar},
  };
}

struct Prepared {
  Graph graph, gradient;
  Extent extent;
  Values inputs;  ///< with seeds
};
Prepared prepare(const Case& c) {
  const Expr a = real_input("a", {kSize}, Axes::prefix());
  const Sym k = int_input("k", kSize, Axes::prefix()), y = int_input("y", kTags, Axes::tag());
  const int n = static_cast<int>(c.rows.size());
  Prepared p{optimize(graph_of({{"out", c.function(a, k, y)}}, Axes::prefix())), {}, {}, {}};
  p.extent = {n, 1, 1, kTags, std::vector<int>(static_cast<size_t>(n), 0), {0}, {1}};
  const std::vector<std::string> seeds{"out"}, wrt{"a"};
  p.gradient = optimize(adjoint(p.graph, seeds, wrt));
  p.inputs = with_seeds(p.graph, p.extent, random_inputs(p.graph, p.extent, 0, 1, 3), 4);
  p.inputs["a"].clear();
  for (const auto& row : c.rows) p.inputs["a"].insert(p.inputs["a"].end(), row.begin(), row.end());
  return p;
}
bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

}  // namespace

TEST_CASE("infinite scores give no NaN, and machine code gives what the reference does",
          "[infinity]") {
  for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
    const std::vector<Case> all = cases();
    std::vector<KernelPlan> plans;
    for (size_t i = 0; i < all.size(); ++i)
      plans.push_back(plan_kernel(kernel_name(i), prepare(all[i]).graph));
    const Compiled compiled(plans, precision, kTags);
    for (size_t i = 0; i < all.size(); ++i) {
      INFO(all[i].name);
      const Prepared p = prepare(all[i]);
      const Values expected = evaluate(p.graph, p.extent, p.inputs);
      for (double value : expected.at("out")) CHECK_FALSE(std::isnan(value));
      CHECK(difference(compiled.run(kernel_name(i), p.extent, p.inputs), expected) <
            (precision == Precision::kDouble ? 1e-12 : 1e-5));
    }
  }
}

TEST_CASE("infinite scores have finite gradients by the adjoint", "[infinity]") {
  for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
    const std::vector<Case> all = cases();
    std::vector<KernelPlan> plans;
    for (size_t i = 0; i < all.size(); ++i)
      plans.push_back(plan_kernel(kernel_name(i), prepare(all[i]).gradient));
    const Compiled compiled(plans, precision, kTags);
    for (size_t i = 0; i < all.size(); ++i) {
      INFO(all[i].name << (precision == Precision::kDouble ? " in double" : " in float"));
      const Prepared p = prepare(all[i]);
      const Values expected = evaluate(p.gradient, p.extent, p.inputs);
      const Values got = compiled.run(kernel_name(i), p.extent, p.inputs);
      CHECK(all_finite(expected.at("d.a")));
      CHECK(all_finite(got.at("d.a")));
      CHECK(difference(got, expected) <= (precision == Precision::kDouble ? 1e-12 : 1e-5));
    }
  }
}

TEST_CASE("infinite scores have the same gradients by Enzyme", "[infinity][enzyme]") {
  if (skip_without_enzyme()) return;
  for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
    const std::vector<Case> all = cases();
    const std::vector<std::string> seeds{"out"}, wrt{"a"};
    std::vector<KernelPlan> plans;
    for (size_t i = 0; i < all.size(); ++i) {
      plans.push_back(plan_enzyme_gradient(kernel_name(i), prepare(all[i]).graph, seeds, wrt));
    }
    const Compiled compiled(plans, precision, kTags);
    for (size_t i = 0; i < all.size(); ++i) {
      INFO(all[i].name << (precision == Precision::kDouble ? " in double" : " in float"));
      const Prepared p = prepare(all[i]);
      const Values got = compiled.run(kernel_name(i), p.extent, p.inputs);
      CHECK(all_finite(got.at("d.a")));
      CHECK(difference(got, evaluate(p.gradient, p.extent, p.inputs)) <=
            (precision == Precision::kDouble ? 1e-9 : 1e-4));
    }
  }
}

TEST_CASE("the gradient of logsumexp is softmax, and 0 for forbidden scores", "[infinity]") {
  const Prepared p =
      prepare({"", [](const Expr& a, const Sym&, const Sym&) { return logsumexp(a); }, kScores});
  const std::vector<double> gradient = evaluate(p.gradient, p.extent, p.inputs).at("d.a");
  for (size_t row = 0; row < kScores.size(); ++row) {
    double top = -kInf, total = 0;
    for (double score : kScores[row]) top = std::max(top, score);
    for (double score : kScores[row]) total += top == -kInf ? 0 : std::exp(score - top);
    for (size_t k = 0; k < kSize; ++k) {
      const double weight = total == 0 ? 0 : std::exp(kScores[row][k] - top) / total;
      CHECK(gradient[row * kSize + k] == Approx(weight * p.inputs.at("d.out")[row]).margin(1e-15));
    }
  }
}

TEST_CASE("a distribution over forbidden tags alone is nothing, and says so with -∞",
          "[infinity]") {
  const Rows none{{-kInf, -kInf, -kInf, -kInf}};
  const auto value = [&](const std::function<Expr(const Expr&)>& function) {
    const Prepared p =
        prepare({"", [&](const Expr& a, const Sym&, const Sym&) { return function(a); }, none});
    return evaluate(p.graph, p.extent, p.inputs).at("out");
  };
  CHECK(value([](const Expr& a) { return logsumexp(a); }) == std::vector{-kInf});
  CHECK(value([](const Expr& a) { return log_softmax(a); }) == std::vector(4, -kInf));
  CHECK(value([](const Expr& a) { return softmax(a); }) == std::vector(4, 0.0));
  CHECK(value([](const Expr& a) { return normalize(exp(a)); }) == std::vector(4, 0.0));
}
