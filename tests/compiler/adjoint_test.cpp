// Gradients of graphs: adjoint = finite differences on the reference, Enzyme = compiled adjoint.
#include "compiler/adjoint.h"

#include <cmath>

#include "compiler/pass_dead.h"
#include "compiler/pass_tables.h"
#include "compiler/passes.h"
#include "tests/support/check_pass.h"
#include "tests/support/random_graph.h"
#include "tests/support/run_kernel.h"

using namespace scry;
using namespace scry::test;

namespace {

Values inputs_of(const Graph& graph, uint64_t seed) {
  return with_seeds(graph, kSmallExtent, random_inputs(graph, kSmallExtent, -1, 1, seed), seed + 1);
}
/// The graph whose outputs are the gradients of all real outputs for all real inputs.
Graph gradient_of(const Graph& graph) {
  const std::vector<std::string> seeds = real_outputs(graph), wrt = real_inputs(graph);
  return adjoint(graph, seeds, wrt);
}
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double total = 0;
  for (size_t k = 0; k < a.size(); ++k) total += a[k] * b[k];
  return total;
}
/// Along a random direction of each input, the gradient is the slope.
void check_slopes(const Graph& graph, const Graph& gradient, uint64_t seed) {
  const std::vector<std::string> wrt = real_inputs(graph);
  const Values inputs = inputs_of(graph, seed);
  const Values exact =
      with_zeros(without_padding(evaluate(gradient, kSmallExtent, inputs), gradient, kSmallExtent),
                 inputs, wrt);
  const Values directions = random_inputs(graph, kSmallExtent, -1, 1, seed + 2);
  for (const std::string& name : wrt) {
    INFO("seed " << seed << ", input " << name << "\n" << to_string(remove_dead(graph)));
    const double expected = slope(graph, kSmallExtent, inputs, {{name, directions.at(name)}});
    const double got = dot(exact.at("d." + name), directions.at(name));
    CHECK(std::abs(got - expected) <= 1e-6 * std::max(1.0, std::abs(expected)));
  }
}
void check_slopes(const Graph& graph, uint64_t seed = 1) {
  check_slopes(graph, gradient_of(graph), seed);
}

}  // namespace

TEST_CASE("the adjoint of random graphs equals finite differences", "[adjoint][random]") {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Graph graph = random_graph(
        seed, {.num_ops = 8 + static_cast<int>(seed % 16), .of_model = true, .smooth = true});
    check_slopes(graph, seed);
    check_slopes(graph, optimize(gradient_of(optimize(graph))), seed);
  }
}

TEST_CASE("Enzyme's gradient of random graphs equals the compiled adjoint",
          "[adjoint][random][enzyme]") {
  if (skip_without_enzyme()) return;
  constexpr uint64_t kNumGraphs = 50;
  for (const Precision precision : {Precision::kDouble, Precision::kFloat}) {
    const bool is_double = precision == Precision::kDouble;
    std::vector<KernelPlan> plans;
    std::vector<Graph> graphs, gradients;
    // Other graphs in float.
    const uint64_t first = is_double ? 0 : kNumGraphs;
    for (uint64_t seed = first; seed < first + kNumGraphs; ++seed) {
      graphs.push_back(optimize(
          random_graph(seed, {.num_ops = 6 + static_cast<int>(seed % 14), .of_model = true})));
      const Graph& graph = graphs.back();
      const std::vector<std::string> seeds = real_outputs(graph), wrt = real_inputs(graph);
      gradients.push_back(optimize(gradient_of(graph)));
      plans.push_back(plan_kernel("adjoint." + kernel_name(seed - first), gradients.back()));
      plans.push_back(
          plan_enzyme_gradient("enzyme." + kernel_name(seed - first), graph, seeds, wrt));
    }
    const Compiled compiled(plans, precision, kSmallExtent.num_tags);
    for (size_t i = 0; i < graphs.size(); ++i) {
      const Graph& graph = graphs[i];
      const Values inputs = inputs_of(graph, i);
      const auto run = [&](const char* kind) {
        const Values got = compiled.run(kind + kernel_name(i), kSmallExtent, inputs);
        return with_zeros(without_padding(with_zeros(got, inputs, real_inputs(graph)), gradients[i],
                                          kSmallExtent),
                          inputs, real_inputs(graph));
      };
      INFO("graph " << i << (is_double ? " in double\n" : " in float\n") << to_string(graph));
      CHECK(difference(run("adjoint."), run("enzyme.")) <= (is_double ? 1e-9 : 1e-4));
    }
  }
}

TEST_CASE("the gradient of a value used many times is the sum over its uses", "[adjoint]") {
  GraphBuilder b;
  const NodeId a = b.real("a", {4}, Axes::prefix());
  NodeId total = b.add(Op::kMul, {a, a});
  for (Op op : {Op::kTanh, Op::kExp, Op::kSigmoid, Op::kNeg, Op::kSoftplus}) {
    total = b.add(Op::kAdd, {total, b.add(Op::kMul, {b.add(op, {a}), b.add(op, {total})})});
  }
  b.output("sum", b.add(Op::kSum, {total}));
  b.output("itself", a);
  b.output("twice", a, kPrefixTag);
  check_slopes(b.graph);
}

TEST_CASE("an input that stands in several nodes has one gradient", "[adjoint]") {
  GraphBuilder b;
  const auto a = [&] { return b.real("a", {4}, Axes::prefix()); };
  const Graph graph =
      b.finish(b.add(Op::kAdd, {b.add(Op::kExp, {a()}), b.add(Op::kMul, {a(), a()})}));
  CHECK(gradient_of(graph).outputs.size() == 1);
  check_slopes(graph);
}

TEST_CASE("slices may overlap, leave gaps, and stand beside other uses", "[adjoint]") {
  for (int axis : {0, 1}) {
    GraphBuilder b;
    const NodeId m = b.real("m", {6, 6}, Axes::prefix());
    const auto slice = [&](int64_t start, int64_t length) {
      return b.add(Op::kExp, {b.add(Op::kSlice, {m}, {.i = start, .j = length, .axis = axis})});
    };
    b.output("a", slice(0, 2));
    b.output("b", slice(1, 3), kPrefixTag);
    b.output("c", slice(1, 1));
    b.output("d", slice(5, 1));
    b.output("other axis", b.add(Op::kSlice, {m}, {.i = 2, .j = 2, .axis = 1 - axis}));
    b.output("whole", b.add(Op::kTanh, {m}));
    check_slopes(b.graph);
  }
  GraphBuilder b;
  const NodeId v = b.param("v", {5});  // slices of parameters, over more axes
  const NodeId scale = b.real("s", {}, kPrefixTag);
  for (int64_t start : {0, 1, 2}) {
    const NodeId part = b.add(Op::kSlice, {v}, {.i = start, .j = 3});
    b.output(kernel_name(static_cast<size_t>(start)), b.add(Op::kMul, {part, scale}));
  }
  check_slopes(b.graph);
}

TEST_CASE("slices and rows of an encoding over the length have gradients", "[adjoint]") {
  GraphBuilder b;
  const NodeId all = b.real("e", {kLength, 6}, Axes::sequence());
  const auto head = [&](int64_t start) {
    return b.add(Op::kSlice, {all}, {.i = start, .j = 2, .axis = 1});
  };
  const NodeId scores = b.add(Op::kMatMul, {b.real("q", {2}, Axes::prefix()), head(1)}, {.j = 1});
  const NodeId weights = b.add(Op::kTanh, {scores});
  b.output("out", b.add(Op::kMatMul, {weights, head(3)}));
  const NodeId turned = b.add(Op::kTranspose, {all});
  const NodeId rows = b.add(Op::kSlice, {turned}, {.i = 4, .j = 2, .axis = 0});
  b.output("sum", b.add(Op::kSum, {b.add(Op::kExp, {rows})}));
  const NodeId updated =
      b.add(Op::kUpdateRow, {turned, b.integer("i", 6, Axes::prefix()), weights});
  b.output("updated", b.add(Op::kExp, {updated}));
  check_slopes(b.graph);
}

TEST_CASE("an output over more axes than its value has the sum of its seeds", "[adjoint]") {
  for (const Axes axes : {Axes::none(), Axes::sequence(), Axes::prefix(), Axes::tag()}) {
    GraphBuilder b;
    const NodeId value = b.add(Op::kExp, {b.real("a", {3}, axes)});
    b.output("same", value);
    b.output("wide", value, kPrefixTag);
    check_slopes(b.graph);
  }
}

TEST_CASE("the largest of equal elements has its gradient once", "[adjoint]") {
  // max(a, a, …) = a, in which order soever: repeated symbols in a max-pooled encoding do this.
  GraphBuilder b;
  const NodeId a = b.real("a", {}, Axes::prefix()), v = b.real("v", {3}, Axes::prefix());
  b.output("of copies", b.add(Op::kMaxOf, {b.add(Op::kExpand, {a}, {.shape = {4}})}));
  b.output("of two", b.add(Op::kMaxOf, {b.add(Op::kConcat, {v, v})}));
  b.output(
      "of rows",
      b.add(Op::kMaxOf,
            {b.add(Op::kExpand, {b.add(Op::kReshape, {v}, {.shape = {3, 1}})}, {.shape = {3, 2}})},
            {.i = 1}));
  b.output("max", b.add(Op::kMax, {a, a}));
  b.output("min", b.add(Op::kMin, {a, a}));
  check_slopes(b.graph);
}

TEST_CASE("no gradient flows through stopped gradients and comparisons", "[adjoint]") {
  GraphBuilder b;
  const NodeId a = b.real("a", {4}, Axes::prefix()), c = b.real("c", {4}, Axes::prefix());
  b.output("stopped", b.add(Op::kStopGradient, {b.add(Op::kExp, {a})}));
  b.output("compared", b.add(Op::kIfGreater, {a, b.number(0.0), c, b.number(1.0)}));
  const Graph gradient = gradient_of(b.graph);
  REQUIRE(gradient.outputs.size() == 1);
  CHECK(gradient.outputs[0].name == "d.c");
  const Values inputs = inputs_of(b.graph, 1);
  const std::vector<double> got = evaluate(gradient, kSmallExtent, inputs).at("d.c");
  for (size_t k = 0; k < got.size(); ++k) {
    CHECK(got[k] == (inputs.at("a")[k] > 0 ? inputs.at("d.compared")[k] : 0));
  }
}

TEST_CASE("a stopped gradient stays stopped by Enzyme too", "[adjoint][enzyme]") {
  if (skip_without_enzyme()) return;
  std::vector<KernelPlan> plans;
  std::vector<Graph> graphs;
  for (const Axes axes : {Axes::none(), Axes::prefix(), kPrefixTag}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{4}}) {
      GraphBuilder b;
      const NodeId value = b.add(Op::kExp, {b.real("a", shape, axes)});
      const NodeId stopped = b.add(Op::kStopGradient, {value});
      const NodeId product = b.add(Op::kMul, {stopped, b.real("b", shape, axes)});
      b.output("product", product);
      b.output("everywhere", product, kPrefixTag);
      b.output("value", value);
      b.output("stopped", stopped);
      const std::vector<std::string> seeds = real_outputs(b.graph), wrt = real_inputs(b.graph);
      plans.push_back(plan_enzyme_gradient(kernel_name(graphs.size()), b.graph, seeds, wrt));
      graphs.push_back(b.graph);
    }
  }
  const Compiled compiled(plans, Precision::kDouble, kSmallExtent.num_tags);
  for (size_t i = 0; i < graphs.size(); ++i) {
    INFO(to_string(graphs[i]));
    const Values inputs = inputs_of(graphs[i], i);
    CHECK(difference(compiled.run(kernel_name(i), kSmallExtent, inputs),
                     evaluate(gradient_of(graphs[i]), kSmallExtent, inputs)) < 1e-12);
  }
}

TEST_CASE("only the seeds and inputs asked for take part", "[adjoint]") {
  GraphBuilder b;
  const NodeId a = b.real("a", {}, Axes::prefix()), c = b.param("c", {});
  b.output("product", b.add(Op::kMul, {a, c}));
  b.output("other", b.add(Op::kExp, {a}));
  const std::vector<std::string> seeds{"product"}, wrt{"c"};
  const Graph gradient = remove_dead(adjoint(b.graph, seeds, wrt));
  CHECK(to_string(gradient) ==
        "%0 = input a : scalar @ prefix\n"
        "%1 = input d.product : scalar @ prefix\n"
        "%2 = mul %1, %0 : scalar @ prefix\n"
        "%3 = sum_axes %2 : scalar @ parameters\n"
        "d.c += %3 @ parameters\n");
}

TEST_CASE("a parameter used directly and through tables has the sum of both gradients",
          "[adjoint]") {
  GraphBuilder b;
  const NodeId e = b.param("e", {6, 4}), w = b.param("w", {4, 4}),
               x = b.integer("x", 6, Axes::sequence());
  const NodeId looked_up = b.add(Op::kTanh, {b.add(Op::kMatMul, {b.add(Op::kRow, {e, x}), w})});
  const NodeId h = b.add(Op::kMatMul, {b.real("h", {4}, Axes::prefix()), w});
  b.output("next", b.add(Op::kAdd, {h, looked_up}));
  b.output("embedding", b.add(Op::kExp, {b.add(Op::kRow, {e, x})}));
  Graph tables;
  const Graph stage = remove_dead(hoist_tables(optimize(b.graph), tables));
  REQUIRE(tables.outputs.size() >= 1);
  REQUIRE(count(stage, Op::kParam) >= 1);
  const Values inputs = inputs_of(b.graph, 3);
  Values with_tables = inputs;
  with_tables.merge(evaluate(tables, kSmallExtent, inputs));
  Values total = evaluate(gradient_of(stage), kSmallExtent, with_tables);
  Values seeds = inputs;
  for (const GraphOutput& table : tables.outputs)
    seeds["d." + table.name] = total.at("d." + table.name);
  for (const auto& [name, values] : evaluate(gradient_of(tables), kSmallExtent, seeds)) {
    std::vector<double>& sum = total.try_emplace(name, values.size(), 0.0).first->second;
    for (size_t k = 0; k < values.size(); ++k) sum[k] += values[k];
  }
  std::erase_if(total, [](const auto& entry) { return entry.first.starts_with("d.table."); });
  CHECK(difference(total, evaluate(gradient_of(b.graph), kSmallExtent, inputs)) < 1e-12);
  check_slopes(b.graph);
}
