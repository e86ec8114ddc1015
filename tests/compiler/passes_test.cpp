// All the passes together, on random graphs: values before = values after = machine code.
#include "compiler/passes.h"

#include <limits>
#include <set>

#include "tests/support/check_pass.h"
#include "tests/support/expr_graph.h"
#include "tests/support/random_graph.h"
#include "tests/support/run_kernel.h"

using namespace scry;
using namespace scry::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint64_t kNumGraphs = 200;

Graph graph_of_size(uint64_t seed) {
  return random_graph(seed, {.num_ops = 8 + static_cast<int>(seed % 20)});
}

}  // namespace

TEST_CASE("random graphs hold every operation and every kind of axes", "[random]") {
  std::set<Op> ops;
  std::set<std::string> axes;
  for (uint64_t seed = 0; seed < kNumGraphs; ++seed) {
    const Graph graph = optimize(graph_of_size(seed));
    for (const Node& node : graph.nodes) ops.insert(node.op), axes.insert(to_string(node.axes));
  }
  for (int k = 0; k < kNumOps; ++k) {
    const Op op = static_cast<Op>(k);
    INFO(info(op).name);
    const bool only_in_adjoints = op == Op::kSumAxes || op == Op::kScatter || op == Op::kMatMulSum;
    CHECK((ops.contains(op) || op == Op::kScan || only_in_adjoints));
  }
  CHECK(axes.size() == 8);
}

TEST_CASE("optimizing keeps the values of random graphs", "[pass][random]") {
  for (uint64_t seed = 0; seed < kNumGraphs; ++seed) {
    const Graph graph = graph_of_size(seed);
    check_same_values(graph, optimize(graph), 1e-10);
  }
}

TEST_CASE("optimizing an optimized graph changes nothing", "[pass][random]") {
  for (uint64_t seed = 0; seed < kNumGraphs; ++seed) {
    const Graph once = optimize(graph_of_size(seed));
    CHECK(to_string(optimize(once)) == to_string(once));
  }
}

TEST_CASE("optimizing shows every pass and its result", "[pass]") {
  std::vector<std::string> names;
  Graph last;
  const Graph result = optimize(random_graph(1), [&](const std::string& pass, const Graph& graph) {
    verify(graph);
    names.push_back(pass);
    last = graph;
  });
  CHECK(to_string(last) == to_string(result));
  CHECK(std::set<std::string>(names.begin(), names.end()) ==
        std::set<std::string>{"fold_constants", "simplify", "split_concat", "lift_lookups", "share",
                              "remove_dead"});
  CHECK(names.size() % 6 == 0);
}

TEST_CASE("the machine code of random graphs equals the reference", "[random]") {
  for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
    const bool is_double = precision == Precision::kDouble;
    // Half of them optimized, the other half as they are; and the other way round in double.
    const auto is_optimized = [&](uint64_t seed) { return (seed % 2 == 0) == is_double; };
    std::vector<KernelPlan> plans;
    for (uint64_t seed = 0; seed < kNumGraphs; ++seed) {
      const Graph graph = graph_of_size(seed);
      plans.push_back(plan_kernel(kernel_name(seed), is_optimized(seed) ? optimize(graph) : graph));
    }
    const Compiled compiled(plans, precision, kSmallExtent.num_tags);
    for (uint64_t seed = 0; seed < kNumGraphs; ++seed) {
      const Graph graph = graph_of_size(seed);
      INFO("seed " << seed << (is_optimized(seed) ? " optimized\n" : "\n") << to_string(graph));
      const Values inputs = random_inputs(graph, kSmallExtent, -1, 1, seed);
      const Values got = compiled.run(kernel_name(seed), kSmallExtent, inputs);
      const Values expected = evaluate(graph, kSmallExtent, inputs);
      CHECK(difference(without_padding(got, graph, kSmallExtent),
                       without_padding(expected, graph, kSmallExtent)) <
            (is_double ? 1e-11 : 2e-5));
    }
  }
}

TEST_CASE("forbidden tags keep their -∞ through the passes, and make no NaN", "[pass]") {
  const Sym y = int_input("y", 3, Axes::tag()), x = int_input("x", 2, Axes::sequence());
  const Expr mask = constant({2, 3}, {0, -kInfinity, 0, -kInfinity, -kInfinity, 0})[x];
  const Expr scores = real_input("h", {3}, Axes::prefix()) + mask;
  const Expr nothing =
      real_input("h", {3}, Axes::prefix()) + constant({-kInfinity, -kInfinity, -kInfinity});
  const Graph graph = graph_of({{"score", log_softmax(scores)[y]},
                                {"total", logsumexp(scores)},
                                {"weight", softmax(scores)[y]},
                                {"nothing", log_softmax(nothing)[y]},
                                {"constant", log_softmax(constant({0.0, -kInfinity, 1.0}))[y]}},
                               Axes::prefix());
  check_same_values(graph, optimize(graph));
  const Values inputs = random_inputs(graph, kSmallExtent, -1, 1, 4);
  const Values out = evaluate(optimize(graph), kSmallExtent, inputs);
  CHECK(out.at("constant")[1] == -kInfinity);
  for (double value : out.at("nothing")) CHECK(value == -kInfinity);
}
