#include "compiler/pass_tables.h"

#include "compiler/pass_dead.h"
#include "compiler/passes.h"
#include "tests/support/check_pass.h"
#include "tests/support/random_graph.h"

using namespace scry;
using namespace scry::test;

namespace {

/// The one output is a look-up in a table of parameters, by an input.
bool is_lookup(const Graph& graph) {
  const Node& node = graph[graph.outputs[0].node];
  return (node.op == Op::kRow || node.op == Op::kElement) && graph[node.in[0]].axes.empty() &&
         graph[node.in[1]].op == Op::kInput;
}

template <class Build>
Graph lifted(Build build, int64_t max_elements = 1 << 24) {
  GraphBuilder b;
  const Graph graph = b.finish(build(b));
  const Graph result = remove_dead(lift_lookups(graph, max_elements));
  check_same_values(graph, result);
  return result;
}

NodeId symbol(GraphBuilder& b) { return b.integer("x", 6, Axes::sequence()); }
NodeId embedding(GraphBuilder& b, NodeId index) {
  return b.add(Op::kRow, {b.param("e", {6, 4}), index});
}

/// `graph`'s values with its tables computed apart, as the runtime does.
Values evaluate_with_tables(const Graph& graph, const Graph& tables, Values inputs) {
  inputs.merge(evaluate(tables, kSmallExtent, inputs));
  return evaluate(graph, kSmallExtent, inputs);
}
void check_hoisted(const Graph& graph, const Graph& hoisted, const Graph& tables,
                   double tolerance = 1e-12) {
  verify(hoisted);
  verify(tables);
  const Values inputs = random_inputs(graph, kSmallExtent, -1, 1, 5);
  INFO(to_string(graph) << "became\n" << to_string(hoisted) << "with\n" << to_string(tables));
  CHECK(difference(
            without_padding(evaluate_with_tables(hoisted, tables, inputs), hoisted, kSmallExtent),
            without_padding(evaluate(graph, kSmallExtent, inputs), graph, kSmallExtent)) <=
        tolerance);
}

}  // namespace

TEST_CASE("a linear layer of an embedding is a row of a table", "[pass]") {
  for (bool transposed : {false, true}) {
    const Graph result = lifted([&](GraphBuilder& b) {
      return b.add(Op::kMatMul,
                   {embedding(b, symbol(b)), b.param("w", transposed ? Shape{5, 4} : Shape{4, 5})},
                   {.j = transposed});
    });
    CHECK(is_lookup(result));
    CHECK(result[result[result.outputs[0].node].in[0]].type.shape == Shape{6, 5});
  }
}

TEST_CASE("elementwise functions of one look-up are one look-up", "[pass]") {
  CHECK(is_lookup(
      lifted([](GraphBuilder& b) { return b.add(Op::kTanh, {embedding(b, symbol(b))}); })));
  CHECK(is_lookup(lifted([](GraphBuilder& b) {
    const NodeId x = symbol(b);
    const NodeId bias = b.add(Op::kElement, {b.param("bias", {6}), x});
    const NodeId sum = b.add(Op::kAdd, {embedding(b, x), bias});  // [4] + scalar
    return b.add(Op::kMul, {sum, b.param("scale", {4})});
  })));
  CHECK(is_lookup(lifted([](GraphBuilder& b) {
    const NodeId x = symbol(b);
    return b.add(Op::kAdd, {b.add(Op::kElement, {b.param("p", {6}), x}),
                            b.add(Op::kElement, {b.param("q", {6}), x})});
  })));
  CHECK(is_lookup(lifted([](GraphBuilder& b) {
    return b.add(Op::kMul,
                 {b.add(Op::kElement, {b.param("p", {6}), symbol(b)}), b.param("v", {4})});
  })));
  CHECK(is_lookup(lifted([](GraphBuilder& b) {
    return b.add(Op::kExpand, {b.add(Op::kElement, {b.param("p", {6}), symbol(b)})},
                 {.shape = {4}});
  })));
}

TEST_CASE("reductions of a look-up are a look-up", "[pass]") {
  for (Op op : {Op::kSum, Op::kMaxOf}) {
    for (int keep : {0, 1}) {
      CHECK(is_lookup(lifted(
          [&](GraphBuilder& b) { return b.add(op, {embedding(b, symbol(b))}, {.i = keep}); })));
    }
  }
}

TEST_CASE("look-ups by different symbols, or with other values, are computed", "[pass]") {
  CHECK_FALSE(is_lookup(lifted([](GraphBuilder& b) {
    return b.add(Op::kAdd,
                 {embedding(b, symbol(b)), embedding(b, b.integer("i", 6, Axes::prefix()))});
  })));
  CHECK_FALSE(is_lookup(lifted([](GraphBuilder& b) {
    return b.add(Op::kAdd, {embedding(b, symbol(b)), b.real("h", {4}, Axes::prefix())});
  })));
  CHECK_FALSE(is_lookup(lifted([](GraphBuilder& b) {  // tables of different heights
    const NodeId i = b.integer("i", 4, Axes::prefix());
    return b.add(Op::kAdd, {embedding(b, i), b.add(Op::kRow, {b.param("f", {4, 4}), i})});
  })));
  CHECK_FALSE(is_lookup(lifted([](GraphBuilder& b) {  // a matrix of parameters times a look-up
    return b.add(Op::kMul, {b.param("m", {3, 4}), embedding(b, symbol(b))});
  })));
}

TEST_CASE("a table larger than allowed is not made", "[pass]") {
  const auto lift = [](int64_t max_elements) {
    return lifted(
        [](GraphBuilder& b) {
          return b.add(Op::kMatMul, {embedding(b, symbol(b)), b.param("w", {4, 5})});
        },
        max_elements);
  };
  CHECK(is_lookup(lift(30)));
  CHECK_FALSE(is_lookup(lift(29)));
}

TEST_CASE("lifting keeps the values of random graphs", "[pass][random]") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_graph(seed, {.num_ops = 20});
    check_same_values(graph, lift_lookups(graph), 1e-11);
  }
}

TEST_CASE("what depends on parameters alone is moved to the tables", "[pass]") {
  GraphBuilder b;
  const NodeId table =
      b.add(Op::kMatMul, {b.param("e", {6, 4}), b.add(Op::kTanh, {b.param("w", {4, 5})})});
  const Graph graph = b.finish(b.add(Op::kRow, {table, symbol(b)}));
  Graph tables;
  const Graph hoisted = remove_dead(hoist_tables(graph, tables));
  CHECK(to_string(hoisted) ==
        "%0 = input table.0 : [6, 5] @ parameters\n"
        "%1 = input x : symbol in [0, 6) @ sequence\n"
        "%2 = row %0, %1 : [5] @ sequence\n"
        "out = %2 @ sequence\n");
  REQUIRE(tables.outputs.size() == 1);
  CHECK(tables.outputs[0].name == "table.0");
  check_hoisted(graph, hoisted, tables);
}

TEST_CASE("equal tables of several graphs are one", "[pass]") {
  const auto stage = [](Op op) {
    GraphBuilder b;
    const NodeId table = b.add(op, {b.param("e", {6, 4})});
    return b.finish(b.add(Op::kRow, {table, symbol(b)}));
  };
  Graph tables;
  const Graph first = stage(Op::kTanh), second = stage(Op::kTanh), third = stage(Op::kExp);
  const Graph a = hoist_tables(first, tables), c = hoist_tables(second, tables),
              d = hoist_tables(third, tables);
  CHECK(tables.outputs.size() == 2);
  CHECK(count(tables, Op::kParam) == 1);
  CHECK(to_string(remove_dead(a)) == to_string(remove_dead(c)));
  check_hoisted(first, a, tables);
  check_hoisted(second, c, tables);
  check_hoisted(third, d, tables);
}

TEST_CASE("a gradient summed over all rows has no axes, but is no table", "[pass]") {
  GraphBuilder b;
  const NodeId h = b.real("h", {4}, Axes::prefix());
  const NodeId sum = b.add(Op::kSumAxes, {h}, {.axes = Axes::none()});
  const NodeId product = b.add(Op::kMatMulSum, {h, h}, {.axes = Axes::none()});
  b.output("d.bias", b.add(Op::kNeg, {sum}), Axes::none(), true);
  b.output("d.weight", product, Axes::none(), true);
  // Nor is what is made of a seed without axes.
  b.output("d.scale", b.add(Op::kExp, {b.real("d.total", {}, Axes::none())}), Axes::none(), true);
  Graph tables;
  const Graph hoisted = hoist_tables(b.graph, tables);
  CHECK(tables.outputs.empty());
  CHECK(to_string(hoisted) == to_string(b.graph));
}

TEST_CASE("parameters at the tag vary with the tag, and are no table", "[pass]") {
  GraphBuilder b;
  const Graph graph = b.finish(b.add(Op::kAtTag, {b.add(Op::kTanh, {b.param("p", {3, 4})})}));
  Graph tables;
  const Graph hoisted = hoist_tables(graph, tables);
  REQUIRE(tables.outputs.size() == 1);
  CHECK(tables[tables.outputs[0].node].op == Op::kTanh);
  check_hoisted(graph, hoisted, tables);
}

TEST_CASE("a parameter or constant as it is, and a symbol, need no table", "[pass]") {
  GraphBuilder b;
  const NodeId i = b.add(Op::kAdd, {b.number(1), b.number(2)});
  b.output("row", b.add(Op::kRow, {b.param("e", {6, 4}), i}));
  b.output("sum", b.add(Op::kAdd, {b.param("p", {4}), b.real("h", {4}, Axes::prefix())}));
  b.output("constant", b.add(Op::kAdd, {b.number(2.0), b.real("h", {4}, Axes::prefix())}));
  b.output("parameter", b.param("q", {2}));
  b.output("symbol", i);
  Graph tables;
  const Graph hoisted = hoist_tables(b.graph, tables);
  REQUIRE(tables.outputs.size() == 1);  // row 3 of e
  CHECK(tables[tables.outputs[0].node].op == Op::kRow);
  check_hoisted(b.graph, hoisted, tables);
}

TEST_CASE("a table of a table is made in the tables, once", "[pass]") {
  GraphBuilder first;
  const NodeId w = first.param("w", {4, 5});
  const Graph forward = first.finish(
      first.add(Op::kMatMul, {first.real("h", {4}, Axes::prefix()), first.add(Op::kTanh, {w})}));
  Graph tables;
  const Graph stage = hoist_tables(forward, tables);
  // A gradient of the stage reads the stage's table, transposed.
  GraphBuilder second;
  const NodeId table = second.real("table.0", {4, 5}, Axes::none());
  const NodeId back = second.add(Op::kTranspose, {second.add(Op::kExp, {table})});
  const Graph gradient =
      second.finish(second.add(Op::kMatMul, {second.real("d", {5}, Axes::prefix()), back}));
  const Graph hoisted = remove_dead(hoist_tables(gradient, tables));
  CHECK(tables.outputs.size() == 2);
  CHECK(count(tables, Op::kTanh) == 1);
  CHECK(hoisted[0].attr.name != "table.0");
  Values inputs = random_inputs(forward, kSmallExtent, -1, 1, 1);
  inputs.merge(random_inputs(second.graph, kSmallExtent, -1, 1, 2));
  Values with_table = inputs;
  with_table["table.0"] = evaluate(tables, kSmallExtent, inputs).at("table.0");
  inputs.erase("table.0");
  CHECK(difference(evaluate_with_tables(hoisted, tables, inputs),
                   evaluate(gradient, kSmallExtent, with_table)) < 1e-15);
}

TEST_CASE("a table transposed back is the parameter itself", "[pass]") {
  GraphBuilder b;
  const NodeId twice = b.add(Op::kTranspose, {b.add(Op::kTranspose, {b.param("w", {4, 5})})});
  const Graph graph = b.finish(b.add(Op::kMatMul, {b.real("h", {4}, Axes::prefix()), twice}));
  Graph tables;
  const Graph hoisted = hoist_tables(graph, tables);
  CHECK(tables.outputs.empty());
  check_hoisted(graph, hoisted, tables);
}

TEST_CASE("hoisting keeps the values of random graphs, and leaves no work on parameters alone",
          "[pass][random]") {
  Graph all_tables;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_graph(seed, {.num_ops = 20}), optimized = optimize(graph);
    Graph tables;
    const Graph hoisted = remove_dead(hoist_tables(optimized, tables));
    check_hoisted(graph, hoisted, tables, 1e-10);
    // What has no axes is a leaf, or made of values over the tags.
    std::vector<bool> from_tags(hoisted.nodes.size(), false);
    for (size_t id = 0; id < from_tags.size(); ++id) {
      const Node& node = hoisted.nodes[id];
      from_tags[id] = !node.axes.empty() ||
                      std::any_of(node.in.begin(), node.in.end(),
                                  [&](NodeId in) { return from_tags[static_cast<size_t>(in)]; });
      INFO(to_string(hoisted, static_cast<NodeId>(id)));
      if (!node.type.is_int()) CHECK((from_tags[id] || info(node.op).cls == OpClass::kLeaf));
    }
    check_hoisted(graph, remove_dead(hoist_tables(optimized, all_tables)), all_tables, 1e-10);
  }
}
