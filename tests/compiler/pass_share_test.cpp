#include "compiler/pass_share.h"

#include "tests/support/check_pass.h"
#include "tests/support/random_graph.h"

using namespace scry;
using namespace scry::test;

TEST_CASE("sharing makes equal operations on equal operands one node", "[pass]") {
  GraphBuilder b;
  const auto score = [&] {
    const NodeId h = b.real("h", {4}, Axes::prefix());
    return b.add(Op::kTanh, {b.add(Op::kMatMul, {h, b.param("w", {4, 3})})});
  };
  const NodeId sum = b.add(Op::kAdd, {score(), score()});
  const Graph graph = b.finish(sum), result = share(graph);
  CHECK(result.size() == 5);
  CHECK(result[result.outputs[0].node].in == std::vector<NodeId>{3, 3});
  check_same_values(graph, result, 0);
}

TEST_CASE("sharing keeps apart what differs only in an attribute", "[pass]") {
  GraphBuilder b;
  const NodeId m = b.real("m", {4, 4}, Axes::prefix()), v = b.real("v", {4}, Axes::prefix());
  const std::vector<NodeId> different{b.add(Op::kSlice, {m}, {.i = 0, .j = 2, .axis = 0}),
                                      b.add(Op::kSlice, {m}, {.i = 1, .j = 2, .axis = 0}),
                                      b.add(Op::kSlice, {m}, {.i = 0, .j = 2, .axis = 1}),
                                      b.add(Op::kSum, {m}),
                                      b.add(Op::kSum, {m}, {.i = 1}),
                                      b.add(Op::kMatMul, {m, m}),
                                      b.add(Op::kMatMul, {m, m}, {.i = 1}),
                                      b.add(Op::kMatMul, {m, m}, {.j = 1}),
                                      b.add(Op::kReshape, {v}, {.shape = {2, 2}}),
                                      b.add(Op::kReshape, {v}, {.shape = {4, 1}}),
                                      b.add(Op::kExpand, {v}, {.shape = {2, 4}}),
                                      b.add(Op::kExpand, {v}, {.shape = {3, 4}}),
                                      b.add(Op::kConcat, {m, m}),
                                      b.add(Op::kConcat, {m, m}, {.axis = 1}),
                                      b.add(Op::kSumAxes, {v}, {.axes = Axes::none()}),
                                      b.add(Op::kSumAxes, {v}, {.axes = Axes::sequence()})};
  for (size_t i = 0; i < different.size(); ++i) b.output(kernel_name(i), different[i]);
  CHECK(to_string(share(b.graph)) == to_string(b.graph));
}

TEST_CASE("sharing unites constants of one value and type only", "[pass]") {
  GraphBuilder b;
  const std::vector<NodeId> constants{
      b.number(1.0), b.number(1.0),           b.number(1),
      b.number(2.0), b.constant({1}, {1.0}),  b.constant({2}, {1, 2}),
      b.number(0.0), b.constant({2}, {1, 2}), b.number(-0.0)};
  for (size_t i = 0; i < constants.size(); ++i) b.output(kernel_name(i), constants[i]);
  const Graph result = share(b.graph);
  const auto node = [&](size_t i) { return result.outputs[i].node; };
  CHECK(node(0) == node(1));
  CHECK(node(5) == node(7));
  CHECK(result.size() == 7);
  CHECK(node(6) != node(8));  // 1/0 is not 1/-0
}

TEST_CASE("sharing keeps inputs of different names apart", "[pass]") {
  GraphBuilder b;
  const NodeId a = b.real("a", {4}, Axes::prefix()), c = b.real("c", {4}, Axes::prefix());
  b.real("a", {4}, Axes::prefix());
  const Graph result = share(b.finish(b.add(Op::kAdd, {a, c})));
  CHECK(result.size() == 3);
}

TEST_CASE("a shared node is found again when nodes are added one at a time", "[pass]") {
  Graph graph;
  SharedNodes nodes;
  GraphBuilder b;
  const NodeId p = b.param("p", {2}), q = b.add(Op::kNeg, {p}), r = b.add(Op::kNeg, {q});
  for (NodeId id : {p, q, r}) CHECK(nodes.add(graph, b.graph[id]) == id);
  for (NodeId id : {r, p, q}) CHECK(nodes.add(graph, b.graph[id]) == id);
  CHECK(graph.size() == 3);
}

TEST_CASE("sharing keeps the values of random graphs, and finds nothing twice", "[pass][random]") {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = random_graph(seed), result = share(graph);
    check_same_values(graph, result, 0);
    CHECK(to_string(share(result)) == to_string(result));
  }
}
