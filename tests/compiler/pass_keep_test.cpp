#include "compiler/pass_keep.h"

#include "compiler/adjoint.h"
#include "compiler/pass_dead.h"
#include "tests/catch.h"
#include "tests/support/graph_builder.h"
#include "tests/support/random_values.h"
#include "tests/support/run_kernel.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::vector<std::string> kSeeds{"compat"}, kWrt{"w", "later"};

/// c(s, s̄) = Σ f(s W + s̄), from the state at hand.
NodeId add_compat(GraphBuilder& b, NodeId state, Op f) {
  const NodeId w = b.param("w", {4, 3}), later = b.real("later", {3}, Axes::position());
  const NodeId product = b.add(Op::kMatMul, {state, w});
  return b.add(Op::kSum, {b.add(f, {b.add(Op::kAdd, {product, later})})});
}

/// The step with its lookahead: next.h and compat.
Graph forward_graph(Op f) {
  GraphBuilder b;
  const NodeId s = b.real("s", {4}, Axes::prefix()), tag = b.real("tag", {4}, Axes::tag());
  const NodeId next = b.add(Op::kTanh, {b.add(Op::kAdd, {s, tag})});
  b.output("next.h", next);
  b.output("compat", add_compat(b, next, f));
  return b.graph;
}

/// The lookahead alone, from next.h as it is known.
Graph again_graph(Op f, Axes axes = kPrefixTag) {
  GraphBuilder b;
  b.output("compat", add_compat(b, b.real("next.h", {4}, axes), f));
  return b.graph;
}

/// Inputs of both graphs, with what the forward one leaves.
Values run_forward(const Graph& forward, const Graph& again) {
  Values inputs = random_inputs(forward, kSmallExtent, -1, 1, 3);
  inputs.merge(evaluate(forward, kSmallExtent, inputs));
  return with_seeds(again, kSmallExtent, std::move(inputs), 4);
}

}  // namespace

TEST_CASE("a product that the gradient needs is kept, and not computed again", "[keep]") {
  Graph forward = forward_graph(Op::kTanh), again = again_graph(Op::kTanh);
  const Graph expected = adjoint(again, kSeeds, kWrt);
  const std::vector<std::string> names = keep_products(forward, again, kSeeds, kWrt);
  REQUIRE(names == std::vector<std::string>{"kept.0"});
  CHECK(forward[forward.outputs.back().node].op == Op::kMatMul);
  CHECK(forward.outputs.back().axes == kPrefixTag);

  const Graph gradient = remove_dead(adjoint(again, kSeeds, kWrt, {}, names));
  CHECK(count(gradient, Op::kMatMul) == count(remove_dead(expected), Op::kMatMul) - 1);
  const Values inputs = run_forward(forward, again);
  CHECK(difference(evaluate(gradient, kSmallExtent, inputs),
                   evaluate(expected, kSmallExtent, inputs)) == 0);
}

TEST_CASE("Enzyme's gradient from kept products is the adjoint's", "[keep][enzyme]") {
  if (skip_without_enzyme()) return;
  Graph forward = forward_graph(Op::kTanh), again = again_graph(Op::kTanh);
  const Graph expected = adjoint(again, kSeeds, kWrt);
  const std::vector<std::string> names = keep_products(forward, again, kSeeds, kWrt);
  const Compiled compiled({plan_enzyme_gradient("compat.gradient", again, kSeeds, kWrt, {}, names)},
                          Precision::kDouble, kSmallExtent.num_tags);
  const Values inputs = run_forward(forward, again);
  CHECK(difference(compiled.run("compat.gradient", kSmallExtent, inputs),
                   evaluate(expected, kSmallExtent, inputs)) < 1e-13);
}

TEST_CASE("a product that only goes into sums is not kept: its value has no use", "[keep]") {
  Graph forward = forward_graph(Op::kNeg), again = again_graph(Op::kNeg);
  CHECK(keep_products(forward, again, kSeeds, kWrt).empty());
  CHECK(forward.outputs.size() == 2);
}

TEST_CASE("states that vary over fewer axes than where they are read are not taken for them",
          "[keep]") {
  GraphBuilder b;
  const NodeId next = b.add(Op::kTanh, {b.real("s", {4}, Axes::prefix())});
  b.output("next.h", next, kPrefixTag);
  b.output("compat", add_compat(b, next, Op::kTanh));
  Graph forward = b.graph, again = again_graph(Op::kTanh);
  CHECK(keep_products(forward, again, kSeeds, kWrt).empty());
}
