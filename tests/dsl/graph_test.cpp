#include "dsl/graph.h"

#include "tests/catch.h"
#include "tests/dsl/failure.h"

using namespace scry;

namespace {

NodeId input(Graph& graph, const std::string& name, Type type, Axes axes) {
  return graph.add_leaf(Op::kInput, type, axes, {.name = name, .axes = axes}, {});
}
NodeId param(Graph& graph, const std::string& name, Shape shape) {
  return graph.add_leaf(Op::kParam, Type::real(shape), Axes::none(), {.name = name}, {});
}

/// One node of each kind that a dump shows in a way of its own.
Graph small_graph() {
  Graph g;
  const NodeId h = input(g, "s.h", Type::real({4}), Axes::prefix());
  const NodeId y = input(g, "y", Type::integer(0, 3), Axes::tag());
  const NodeId e = input(g, "enc.e", Type::real({kLength, 4}), Axes::sequence());
  const NodeId w = param(g, "model.w", {3, 4});
  const NodeId scores = g.add(Op::kMatMul, {h, w}, {.j = 1}, {});
  const NodeId bias = g.add_constant({3}, {1, 2, 3}, {});
  const NodeId biased = g.add(Op::kAdd, {scores, bias}, {}, {});
  const NodeId half = g.add(Op::kMul, {biased, g.add_scalar(0.5, {})}, {}, {});
  const NodeId top = g.add(Op::kMaxOf, {half}, {.i = 1}, {});
  const NodeId part = g.add(Op::kSlice, {half}, {.i = 1, .j = 2, .axis = 0}, {});
  const NodeId index = g.add(Op::kMod, {y, g.add_integer(2, {})}, {}, {});
  const NodeId picked = g.add(Op::kElement, {part, index}, {}, {});
  const NodeId attention = g.add(Op::kMatMul, {h, g.add(Op::kTranspose, {e}, {}, {})}, {}, {});
  const NodeId all = g.add(Op::kCandidates, {picked}, {.i = 3}, {});
  const NodeId wide = g.add(Op::kConcat, {all, all}, {.axis = 1}, {});
  g.outputs = {{"score", picked, Axes::prefix() | Axes::tag()},
               {"top", top, Axes::prefix()},
               {"attention", attention, Axes::prefix()},
               {"d.w", wide, Axes::prefix(), true}};
  return g;
}

/// The message of the Error that verify throws.
std::string fault(const Graph& graph) {
  try {
    verify(graph);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a dump has one line per node, with its operands, type and axes") {
  CHECK(to_string(small_graph()) ==
        "%0 = input s.h : [4] @ prefix\n"
        "%1 = input y : symbol in [0, 3) @ tag\n"
        "%2 = input enc.e : [T, 4] @ sequence\n"
        "%3 = param model.w : [3, 4] @ parameters\n"
        "%4 = matmul %0, %3 tb : [3] @ prefix\n"
        "%5 = const e2d5ae79fc4e9a70 : [3] @ parameters\n"
        "%6 = add %4, %5 : [3] @ prefix\n"
        "%7 = const 0.5 : scalar @ parameters\n"
        "%8 = mul %6, %7 : [3] @ prefix\n"
        "%9 = max_of %8 keep : [1] @ prefix\n"
        "%10 = slice %8 1+2 axis 0 : [2] @ prefix\n"
        "%11 = const 2 : symbol in [2, 3) @ parameters\n"
        "%12 = mod %1, %11 : symbol in [0, 2) @ tag\n"
        "%13 = element %10, %12 : scalar @ prefix×tag\n"
        "%14 = transpose %2 : [4, T] @ sequence\n"
        "%15 = matmul %0, %14 : [T] @ prefix\n"
        "%16 = candidates %13 : [3, 1] @ prefix\n"
        "%17 = concat %16, %16 columns : [3, 2] @ prefix\n"
        "score = %13 @ prefix×tag\n"
        "top = %9 @ prefix\n"
        "attention = %15 @ prefix\n"
        "d.w += %17 @ prefix\n");
}

TEST_CASE("a dump is the same every time, and tells apart what computes something else") {
  CHECK(to_string(small_graph()) == to_string(small_graph()));
  const auto constant = [](std::vector<double> values) {
    Graph g;
    g.outputs = {
        {"out", g.add_constant({static_cast<int>(values.size())}, values, {}), Axes::none()}};
    return to_string(g);
  };
  CHECK(constant({1, 2}) != constant({1, 3}));
  CHECK(constant({1, 2}) != constant({2, 1}));
  CHECK(constant({0.1}) != constant({0.1 + 1e-17 + 1e-16}));
  CHECK(constant({0.0}) != constant({-0.0}));
  const auto product = [](Attr attr) {
    Graph g;
    const NodeId m = param(g, "m", {4, 4});
    g.outputs = {{"out", g.add(Op::kMatMul, {m, m}, attr, {}), Axes::none()}};
    return to_string(g);
  };
  CHECK(product({}) != product({.i = 1}));
  CHECK(product({.j = 1}) != product({.i = 1}));
}

TEST_CASE("a graph finds its outputs by name") {
  const Graph g = small_graph();
  CHECK(g.find_output("score") == 13);
  CHECK(g.find_output("nothing") == -1);
}

TEST_CASE("a node varies with what its operands vary with") {
  const auto axes = [](Op op, std::vector<Axes> in, Attr attr = {}) {
    return infer_axes(op, in, attr);
  };
  CHECK(axes(Op::kAdd, {Axes::none(), Axes::none()}) == Axes::none());
  CHECK(axes(Op::kAdd, {Axes::sequence(), Axes::prefix()}) ==
        Axes::prefix());  // a prefix has a sequence
  CHECK(axes(Op::kMatMul, {Axes::prefix(), Axes::tag()}) == (Axes::prefix() | Axes::tag()));
  CHECK(axes(Op::kCandidates, {Axes::prefix() | Axes::tag()}) == Axes::prefix());
  CHECK(axes(Op::kCandidates, {Axes::tag()}) == Axes::none());
  CHECK(axes(Op::kAtTag, {Axes::prefix()}) == (Axes::prefix() | Axes::tag()));
  CHECK(axes(Op::kSumAxes, {Axes::prefix()}, {.axes = Axes::sequence()}) == Axes::sequence());
}

TEST_CASE("adding an operation to a graph checks its operands' types at the given line") {
  Graph g;
  const NodeId a = param(g, "a", {3}), b = param(g, "b", {4});
  CHECK(FAILURE(g.add(Op::kAdd, {a, b}, {}, Where::here())) ==
        "add: the shapes [3] and [4] do not fit together");
  CHECK(g.size() == 2);
}

TEST_CASE("a good graph passes verification") { CHECK(fault(small_graph()) == "no error"); }

TEST_CASE("verification finds a node that stands before its operands") {
  Graph g = small_graph();
  g.nodes[4].in[0] = 6;
  CHECK(fault(g) == "graph: node %4 uses %6 before it is made");
  g.nodes[4].in[0] = 4;
  CHECK(fault(g) == "graph: node %4 uses %4 before it is made");
  g.nodes[4].in[0] = -1;
  CHECK(fault(g) == "graph: node %4 uses %-1 before it is made");
}

TEST_CASE("verification finds a wrong type or wrong axes") {
  Graph g = small_graph();
  g.nodes[6].type = Type::real({4});
  CHECK(fault(g) == "graph: wrong type or axes: %6 = add %4, %5 : [4] @ prefix");
  g = small_graph();
  g.nodes[6].axes = Axes::tag();
  CHECK(fault(g) == "graph: wrong type or axes: %6 = add %4, %5 : [3] @ tag");
  g = small_graph();
  g.nodes[12].type = Type::integer(0, 3);
  CHECK(fault(g).starts_with("graph: wrong type or axes: %12 = mod"));
}

TEST_CASE("verification finds operands that do not fit together") {
  Graph g = small_graph();
  g.nodes[6].in[1] = 0;
  CHECK(fault(g).find("add: the shapes [3] and [4] do not fit together") != std::string::npos);
}

TEST_CASE("verification finds an output without a node, or over too few axes") {
  Graph g = small_graph();
  g.outputs[1].node = 18;
  CHECK(fault(g) == "graph: the output 'top' has no node");
  g.outputs[1].node = -1;
  CHECK(fault(g) == "graph: the output 'top' has no node");
  g = small_graph();
  g.outputs[0].axes = Axes::prefix();
  CHECK(fault(g) == "graph: the output 'score' is over prefix, but its value over prefix×tag");
}
