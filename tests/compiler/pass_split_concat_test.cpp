#include "compiler/pass_split_concat.h"

#include <algorithm>

#include "compiler/passes.h"
#include "tests/support/check_pass.h"
#include "tests/support/random_graph.h"

using namespace scry;
using namespace scry::test;

namespace {

bool has_mixed_concat(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (node.op != Op::kMatMul || graph[node.in[0]].op != Op::kConcat) return false;
    const Node& concat = graph[node.in[0]];
    return concat.type.shape.rank() == 1 &&
           std::any_of(concat.in.begin(), concat.in.end(),
                       [&](NodeId id) { return graph[id].axes != graph[concat.in[0]].axes; });
  });
}

/// Whether each such product that is left multiplies what was a part of another concatenation.
bool only_nested_are_mixed(const Graph& graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (node.op != Op::kMatMul || graph[node.in[0]].op != Op::kConcat) return true;
    const Node& concat = graph[node.in[0]];
    const bool is_mixed = std::any_of(concat.in.begin(), concat.in.end(), [&](NodeId id) {
      return graph[id].axes != graph[concat.in[0]].axes;
    });
    return concat.type.shape.rank() != 1 || !is_mixed ||
           std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& other) {
             return other.op == Op::kConcat &&
                    std::find(other.in.begin(), other.in.end(), node.in[0]) != other.in.end();
           });
  });
}

/// [tag; none; prefix; prefix; sequence] W, or with the weights as PyTorch keeps them.
Graph mixed(bool transposed) {
  GraphBuilder b;
  const NodeId all =
      b.add(Op::kConcat,
            {b.real("t", {2}, Axes::tag()), b.param("p", {3}), b.real("a", {1}, Axes::prefix()),
             b.real("b", {4}, Axes::prefix()), b.real("s", {2}, Axes::sequence())});
  const NodeId w = b.param("w", transposed ? Shape{5, 12} : Shape{12, 5});
  return b.finish(b.add(Op::kMatMul, {all, w}, {.j = transposed}));
}

}  // namespace

TEST_CASE("each part of a mixed concatenation is multiplied over its own axes", "[pass]") {
  for (bool transposed : {false, true}) {
    const Graph graph = mixed(transposed), result = split_concat(graph);
    CHECK(has_mixed_concat(graph));
    CHECK_FALSE(has_mixed_concat(result));
    check_same_values(graph, result);
    std::vector<Axes> axes;
    for (const Node& node : result.nodes) {
      if (node.op == Op::kMatMul) axes.push_back(node.axes);
    }
    // Fewest indices first, so that the partial sums are over few axes as well.
    CHECK(axes == std::vector{Axes::none(), Axes::sequence(), Axes::prefix(), Axes::tag()});
  }
}

TEST_CASE("neighbours over the same axes stay one product", "[pass]") {
  GraphBuilder b;
  const NodeId all =
      b.add(Op::kConcat, {b.real("a", {2}, Axes::prefix()), b.real("b", {3}, Axes::prefix()),
                          b.real("t", {1}, Axes::tag())});
  const Graph graph = b.finish(b.add(Op::kMatMul, {all, b.param("w", {6, 5})}));
  const Graph result = split_concat(graph);
  CHECK(count(result, Op::kMatMul) == 2);
  check_same_values(graph, result);
}

TEST_CASE("a concatenation over the same axes is multiplied as it is", "[pass]") {
  GraphBuilder b;
  const NodeId all =
      b.add(Op::kConcat, {b.real("a", {2}, Axes::prefix()), b.real("b", {3}, Axes::prefix())});
  const Graph graph = b.finish(b.add(Op::kMatMul, {all, b.param("w", {5, 5})}));
  CHECK(to_string(split_concat(graph)) == to_string(graph));
}

TEST_CASE("a mixed concatenation with another use stays for that use", "[pass]") {
  Graph graph = mixed(false);
  graph.outputs.push_back({"all", 5, kPrefixTag});
  REQUIRE(graph[5].op == Op::kConcat);
  const Graph result = optimize(graph);
  CHECK(count(result, Op::kConcat) == 2);  // it, and its two parts over the prefix
  check_same_values(graph, result);
}

TEST_CASE("splitting keeps the values of random graphs, and leaves no mixed product",
          "[pass][random]") {
  int num_mixed = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_graph(seed, {.num_ops = 20});
    // A part may itself be such a concatenation, which is for the next round.
    const Graph once = split_concat(graph), result = split_concat(once);
    CHECK(only_nested_are_mixed(once));
    num_mixed += has_mixed_concat(graph) ? 1 : 0;
    CHECK_FALSE(has_mixed_concat(result));
    check_same_values(graph, result, 1e-11);
  }
  CHECK(num_mixed >= 3);  // or the test tests nothing
}
