#include "compiler/codegen.h"

#include <regex>

#include "compiler/enzyme.h"
#include "compiler/kernel_plan.h"
#include "tests/catch.h"
#include "tests/support/run_kernel.h"

using namespace scry;
using namespace scry::test;

namespace {

Graph elementwise(Op op) {
  Graph graph;
  const NodeId a = graph.add_leaf(Op::kInput, Type::real({64}), Axes::prefix(),
                                  {.name = "a", .axes = Axes::prefix()}, {});
  graph.outputs = {{"out", graph.add(op, {a}, {}, {}), Axes::prefix()}};
  return graph;
}

std::string optimized(const KernelPlan& plan) {
  std::string text;
  CodegenTimes times;
  const std::vector<KernelPlan> plans{plan};
  generate_object({plans, Precision::kFloat, 1, find_enzyme().path,
                   [&](const std::string& when, const std::string& ir) {
                     if (when == "optimized") text = ir;
                   }},
                  times);
  return text;
}

/// The polynomial runs on vectors: it multiplies or divides them, and calls nothing.
bool is_vectorized(const std::string& ir) {
  return std::regex_search(ir,
                           std::regex(R"(fmuladd\.v\d+f32|= f(?:mul|div) [a-z ]*<\d+ x float>)")) &&
         ir.find("@llvm.exp.") == std::string::npos && ir.find("@llvm.log.") == std::string::npos &&
         ir.find("call float @") == std::string::npos;
}

}  // namespace

TEST_CASE("exp, log, tanh, sigmoid and softplus are vectorised") {
  for (Op op : {Op::kExp, Op::kLog, Op::kTanh, Op::kSigmoid, Op::kSoftplus}) {
    INFO(info(op).name);
    CHECK(is_vectorized(optimized(plan_kernel("k", elementwise(op)))));
  }
}

TEST_CASE("Enzyme's gradients of exp, log, tanh, sigmoid and softplus are vectorised", "[enzyme]") {
  if (skip_without_enzyme()) return;
  const std::vector<std::string> seeds{"out"}, wrt{"a"};
  for (Op op : {Op::kExp, Op::kLog, Op::kTanh, Op::kSigmoid, Op::kSoftplus}) {
    INFO(info(op).name);
    CHECK(is_vectorized(optimized(plan_enzyme_gradient("k", elementwise(op), seeds, wrt))));
  }
}

TEST_CASE("a kernel that Enzyme is to differentiate is refused without a plugin") {
  const std::vector<std::string> seeds{"out"}, wrt{"a"};
  const std::vector<KernelPlan> plans{plan_enzyme_gradient("k", elementwise(Op::kExp), seeds, wrt)};
  CodegenTimes times;
  CHECK_THROWS_AS(generate_object({plans, Precision::kFloat, 1, "/nonexistent.so", {}}, times),
                  Error);
}
