#include "compiler/pass_dead.h"

#include <algorithm>

#include "tests/support/check_pass.h"
#include "tests/support/random_graph.h"

using namespace scry;
using namespace scry::test;

TEST_CASE("what no output needs is removed, and the rest keeps its order", "[pass]") {
  GraphBuilder b;
  const NodeId a = b.real("a", {2}, Axes::prefix());
  b.add(Op::kExp, {b.real("unused", {2}, Axes::tag())});
  const NodeId c = b.add(Op::kNeg, {a});
  b.add(Op::kTanh, {c});
  b.output("twice", b.add(Op::kAdd, {c, a}));
  b.output("again", c, Axes::prefix(), true);
  CHECK(to_string(remove_dead(b.graph)) ==
        "%0 = input a : [2] @ prefix\n"
        "%1 = neg %0 : [2] @ prefix\n"
        "%2 = add %1, %0 : [2] @ prefix\n"
        "twice = %2 @ prefix\n"
        "again += %1 @ prefix\n");
}

TEST_CASE("a graph without outputs is empty once its dead nodes are removed", "[pass]") {
  GraphBuilder b;
  b.add(Op::kNeg, {b.param("p", {2})});
  CHECK(remove_dead(b.graph).size() == 0);
}

TEST_CASE("removing dead nodes keeps the values of random graphs, and each node left is used",
          "[pass][random]") {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = random_graph(seed), result = remove_dead(graph);
    check_same_values(graph, result, 0);
    std::vector<bool> used(result.nodes.size(), false);
    for (const Node& node : result.nodes) {
      for (NodeId in : node.in) used[static_cast<size_t>(in)] = true;
    }
    for (const GraphOutput& output : result.outputs) used[static_cast<size_t>(output.node)] = true;
    CHECK(std::count(used.begin(), used.end(), false) == 0);
  }
}
