// The oracle comes first: values computed by hand.
#include "compiler/reference.h"

#include <cmath>
#include <limits>

#include "tests/catch.h"
#include "tests/support/graph_builder.h"

using namespace scry;
using namespace scry::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using List = std::vector<double>;

/// op(a, b, …) with no axes: the operands are the inputs 0, 1, … of these shapes.
List apply(Op op, const std::vector<std::pair<Shape, List>>& operands, Attr attr = {}) {
  GraphBuilder b;
  std::vector<NodeId> in;
  Values inputs;
  for (const auto& [shape, values] : operands) {
    const std::string name = std::to_string(in.size());
    in.push_back(b.real(name, shape, Axes::none()));
    inputs[name] = values;
  }
  return evaluate(b.finish(b.add(op, in, attr)), {}, inputs).at("out");
}
List unary(Op op, List a, Attr attr = {}) {
  const Shape shape{static_cast<int>(a.size())};
  return apply(op, {{shape, std::move(a)}}, attr);
}
List binary(Op op, List a, List b) {
  const Shape x{static_cast<int>(a.size())}, y{static_cast<int>(b.size())};
  return apply(op, {{x, std::move(a)}, {y, std::move(b)}});
}
double apply_to_integers(Op op, int a, int b) {
  GraphBuilder g;
  return evaluate(g.finish(g.add(op, {g.number(a), g.number(b)})), {}, {}).at("out")[0];
}
void check_close(const List& got, const List& want) {
  REQUIRE(got.size() == want.size());
  for (size_t k = 0; k < got.size(); ++k) CHECK(got[k] == Approx(want[k]).epsilon(1e-14));
}

}  // namespace

TEST_CASE("the reference evaluates arithmetic as written", "[reference]") {
  CHECK(binary(Op::kAdd, {1, 2}, {10, 20}) == List{11, 22});
  CHECK(binary(Op::kSub, {1, 2}, {10, 20}) == List{-9, -18});
  CHECK(binary(Op::kMul, {3, 2}, {10, 20}) == List{30, 40});
  CHECK(binary(Op::kDiv, {1, 3}, {2, -4}) == List{0.5, -0.75});
  CHECK(binary(Op::kRatio, {1, 3, 0}, {2, 0, 0}) == List{0.5, 0, 0});
  CHECK(unary(Op::kNeg, {1, -2}) == List{-1, 2});
  CHECK(binary(Op::kMin, {1, 5}, {2, 3}) == List{1, 3});
  CHECK(binary(Op::kMax, {1, 5}, {2, 3}) == List{2, 5});
  CHECK(unary(Op::kRelu, {-1, 0, 2}) == List{0, 0, 2});
  CHECK(unary(Op::kFinite, {1, -kInfinity, kInfinity, -3}) == List{1, 0, 0, -3});
  CHECK(unary(Op::kStopGradient, {1, -2}) == List{1, -2});
}

TEST_CASE("the reference evaluates transcendental functions", "[reference]") {
  check_close(unary(Op::kExp, {0, 1, -2}), {1, 2.718281828459045, 0.1353352832366127});
  check_close(unary(Op::kLog, {1, 10, 0.5}), {0, 2.302585092994046, -0.6931471805599453});
  check_close(unary(Op::kTanh, {0, 1, -0.5}), {0, 0.7615941559557649, -0.46211715726000973});
  check_close(unary(Op::kSigmoid, {0, 2, -1}), {0.5, 0.8807970779778823, 0.2689414213699951});
  check_close(unary(Op::kSoftplus, {0, 2, -1}),
              {0.6931471805599453, 2.1269280110429727, 0.31326168751822286});
  check_close(unary(Op::kSqrt, {0, 4, 2}), {0, 2, 1.4142135623730951});
  check_close(binary(Op::kLogDivide, {1, -kInfinity, -kInfinity}, {3, 3, -kInfinity}),
              {-2, -kInfinity, -kInfinity});
  CHECK(unary(Op::kExp, {-kInfinity}) == List{0});
  CHECK(unary(Op::kLog, {0}) == List{-kInfinity});
}

TEST_CASE("the reference chooses by comparison and by symbol", "[reference]") {
  CHECK(
      apply(Op::kIfGreater, {{{3}, {1, 2, 3}}, {{3}, {2, 2, 2}}, {{3}, {10, 20, 30}}, {{}, {7}}}) ==
      List{7, 7, 30});
  GraphBuilder b;
  const NodeId when = b.integer("k", 2, Axes::prefix());
  const Graph graph = b.finish(b.add(Op::kSelect, {when, b.number(4.0), b.number(5.0)}));
  CHECK(evaluate(graph, kSmallExtent, {{"k", {1, 0, 0, 1, 1}}}).at("out") == List{4, 5, 5, 4, 4});
}

TEST_CASE("the reference evaluates arithmetic on symbols", "[reference]") {
  CHECK(apply_to_integers(Op::kAdd, 7, 3) == 10);
  CHECK(apply_to_integers(Op::kSub, 3, 7) == -4);
  CHECK(apply_to_integers(Op::kMul, 7, 3) == 21);
  CHECK(apply_to_integers(Op::kIntDiv, 7, 3) == 2);
  CHECK(apply_to_integers(Op::kMod, 7, 3) == 1);
  CHECK(apply_to_integers(Op::kEqual, 7, 7) == 1);
  CHECK(apply_to_integers(Op::kEqual, 7, 3) == 0);
  CHECK(apply_to_integers(Op::kLess, 3, 7) == 1);
  CHECK(apply_to_integers(Op::kLess, 7, 7) == 0);
  GraphBuilder b;
  CHECK(evaluate(b.finish(b.add(Op::kToReal, {b.number(7)})), {}, {}).at("out") == List{7});
  GraphBuilder g;
  CHECK(evaluate(g.finish(g.add(Op::kOneHot, {g.number(2)}, {.i = 4})), {}, {}).at("out") ==
        List{0, 0, 1, 0});
}

TEST_CASE("the reference broadcasts as NumPy does", "[reference]") {
  const List column{1, 2, 3}, row{10, 20};
  CHECK(apply(Op::kAdd, {{{3, 1}, column}, {{2}, row}}) == List{11, 21, 12, 22, 13, 23});
  CHECK(apply(Op::kSub, {{{2}, row}, {{3, 1}, column}}) == List{9, 19, 8, 18, 7, 17});
  CHECK(apply(Op::kMul, {{{2, 2}, {1, 2, 3, 4}}, {{2}, row}}) == List{10, 40, 30, 80});
  CHECK(apply(Op::kMul, {{{2, 2}, {1, 2, 3, 4}}, {{}, {5}}}) == List{5, 10, 15, 20});
  CHECK(apply(Op::kMul, {{{1, 2}, row}, {{2, 1}, {1, 2}}}) == List{10, 20, 20, 40});
  CHECK(apply(Op::kExpand, {{{3, 1}, column}}, {.shape = {3, 2}}) == List{1, 1, 2, 2, 3, 3});
  CHECK(apply(Op::kExpand, {{{}, {4}}}, {.shape = {3}}) == List{4, 4, 4});
}

TEST_CASE("the reference reduces the last dimension", "[reference]") {
  const std::pair<Shape, List> matrix{{2, 3}, {1, 5, 3, -4, -6, -5}};
  CHECK(apply(Op::kSum, {matrix}) == List{9, -15});
  CHECK(apply(Op::kSum, {matrix}, {.i = 1}) == List{9, -15});
  CHECK(apply(Op::kMaxOf, {matrix}) == List{5, -4});
  CHECK(unary(Op::kSum, {1, 2, 4}) == List{7});
  CHECK(unary(Op::kMaxOf, {-kInfinity, -kInfinity}) == List{-kInfinity});
}

TEST_CASE("the reference multiplies matrices, transposed or not", "[reference]") {
  const std::pair<Shape, List> a{{2, 3}, {1, 2, 3, 4, 5, 6}}, a_t{{3, 2}, {1, 4, 2, 5, 3, 6}};
  const std::pair<Shape, List> b{{3, 2}, {1, 0, 0, 1, 2, 3}}, b_t{{2, 3}, {1, 0, 2, 0, 1, 3}};
  const List product{7, 11, 16, 23};
  CHECK(apply(Op::kMatMul, {a, b}) == product);
  CHECK(apply(Op::kMatMul, {a_t, b}, {.i = 1}) == product);
  CHECK(apply(Op::kMatMul, {a, b_t}, {.j = 1}) == product);
  CHECK(apply(Op::kMatMul, {a_t, b_t}, {.i = 1, .j = 1}) == product);
  CHECK(apply(Op::kMatMul, {{{3}, {1, 2, 3}}, b}) == List{7, 11});
}

TEST_CASE("the reference moves elements where layouts say", "[reference]") {
  const std::pair<Shape, List> m{{2, 3}, {1, 2, 3, 4, 5, 6}}, n{{1, 3}, {7, 8, 9}},
      c{{2, 1}, {7, 8}};
  CHECK(apply(Op::kTranspose, {m}) == List{1, 4, 2, 5, 3, 6});
  CHECK(apply(Op::kReshape, {m}, {.shape = {3, 2}}) == m.second);
  CHECK(apply(Op::kConcat, {m, n}) == List{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(apply(Op::kConcat, {m, c}, {.axis = 1}) == List{1, 2, 3, 7, 4, 5, 6, 8});
  CHECK(apply(Op::kSlice, {m}, {.i = 1, .j = 1, .axis = 0}) == List{4, 5, 6});
  CHECK(apply(Op::kSlice, {m}, {.i = 1, .j = 2, .axis = 1}) == List{2, 3, 5, 6});
  CHECK(unary(Op::kSlice, {1, 2, 3, 4}, {.i = 2, .j = 2}) == List{3, 4});
}

TEST_CASE("the reference indexes by symbols", "[reference]") {
  GraphBuilder b;
  const NodeId table = b.param("table", {3, 2}), index = b.integer("i", 3, Axes::prefix());
  const NodeId row = b.add(Op::kRow, {table, index});
  b.output("row", row);
  b.output("element", b.add(Op::kElement, {row, b.number(1)}));
  b.output("updated", b.add(Op::kUpdateRow, {table, index, b.constant({2}, {8, 9})}));
  const Extent extent{2, 1, 1, 1, {0, 0}, {0}, {1}};
  const Values out = evaluate(b.graph, extent, {{"table", {1, 2, 3, 4, 5, 6}}, {"i", {2, 0}}});
  CHECK(out.at("row") == List{5, 6, 1, 2});
  CHECK(out.at("element") == List{6, 2});
  CHECK(out.at("updated") == List{1, 2, 3, 4, 8, 9, 8, 9, 3, 4, 5, 6});
}

TEST_CASE("in the reference a prefix sees the value of its own sequence", "[reference]") {
  GraphBuilder b;
  const NodeId of_prefix = b.real("p", {}, Axes::prefix()),
               of_sequence = b.real("s", {}, Axes::sequence());
  const NodeId of_tag = b.real("t", {}, Axes::tag());
  const NodeId sum = b.add(Op::kAdd, {b.add(Op::kAdd, {of_prefix, of_sequence}), of_tag});
  const Extent extent{3, 2, 2, 2, {1, 0, 1}, {0, 1}, {1, 1}};
  CHECK(evaluate(b.finish(sum), extent, {{"p", {1, 2, 3}}, {"s", {10, 20}}, {"t", {100, 200}}})
            .at("out") == List{121, 221, 112, 212, 123, 223});
}

TEST_CASE("in the reference a prefix sees the value of its own position", "[reference]") {
  GraphBuilder b;
  const NodeId of_prefix = b.real("p", {}, Axes::prefix()),
               of_position = b.real("t", {}, Axes::position()),
               of_sequence = b.real("s", {}, Axes::sequence());
  const NodeId here = b.add(Op::kAdd, {of_position, of_sequence});
  b.output("here", here);
  b.output("out", b.add(Op::kAdd, {of_prefix, here}));
  b.output("of positions", b.add(Op::kSumAxes, {of_prefix}, {.axes = Axes::position()}));
  b.output("of sequences", b.add(Op::kSumAxes, {here}, {.axes = Axes::sequence()}));
  const Extent extent{3, 3, 2, 1, {2, 0, 2}, {0, 1, 1}, {1, 2}};
  const Values out =
      evaluate(b.graph, extent, {{"p", {1, 2, 3}}, {"t", {10, 20, 30}}, {"s", {100, 200}}});
  CHECK(out.at("here") == List{110, 220, 230});
  CHECK(out.at("out") == List{231, 112, 233});
  CHECK(out.at("of positions") == List{2, 0, 4});
  CHECK(out.at("of sequences") == List{110, 450});
}

TEST_CASE("in the reference candidates are rows per tag, and at_tag picks the row", "[reference]") {
  GraphBuilder b;
  const NodeId all = b.add(Op::kCandidates, {b.real("a", {2}, kPrefixTag)}, {.i = 2});
  b.output("all", all);
  b.output("sum", b.add(Op::kSum, {b.add(Op::kTranspose, {all})}));
  b.output("back", b.add(Op::kAtTag, {all}));
  const Extent extent{2, 1, 1, 2, {0, 0}, {0}, {1}};
  const List a{1, 2, 3, 4, 5, 6, 7, 8};  // prefix, tag, element
  const Values out = evaluate(b.graph, extent, {{"a", a}});
  CHECK(out.at("all") == a);
  CHECK(out.at("sum") == List{4, 6, 12, 14});
  CHECK(out.at("back") == a);
}

TEST_CASE("in the reference a dimension T is each sequence's own length", "[reference]") {
  GraphBuilder b;
  const NodeId all = b.real("e", {kLength, 2}, Axes::sequence());
  const NodeId columns = b.add(Op::kTranspose, {all});
  b.output("sum", b.add(Op::kSum, {columns}));
  b.output("max", b.add(Op::kMaxOf, {columns}));
  b.output("last", b.add(Op::kRow, {all, b.integer("last", 9, Axes::sequence())}));
  b.output("scores", b.add(Op::kMatMul, {b.real("q", {2}, Axes::prefix()), columns}));
  const Extent extent{2, 2, 2, 1, {1, 0}, {0, 1}, {1, 3}};
  const List e{1, 2, 99, 99, 99, 99, 1, 2, 3, 4, -5, 6};  // sequence 0 has padding
  const Values out = evaluate(b.graph, extent, {{"e", e}, {"last", {0, 2}}, {"q", {1, 10, 2, 1}}});
  CHECK(out.at("sum") == List{1, 2, -1, 12});
  CHECK(out.at("max") == List{1, 2, 3, 6});
  CHECK(out.at("last") == List{1, 2, -5, 6});
  CHECK(out.at("scores") == List{21, 43, 55, 4, 0, 0});
}

TEST_CASE("the reference sums over the axes that a sum does not name", "[reference]") {
  GraphBuilder b;
  const NodeId a = b.real("a", {2}, Axes::prefix()), w = b.real("w", {}, kPrefixTag);
  const NodeId i = b.integer("i", 2, Axes::prefix());
  b.output("all", b.add(Op::kSumAxes, {a}, {.axes = Axes::none()}));
  b.output("of sequences", b.add(Op::kSumAxes, {a}, {.axes = Axes::sequence()}));
  b.output("of prefixes", b.add(Op::kSumAxes, {w}, {.axes = Axes::prefix()}));
  b.output("of tags", b.add(Op::kSumAxes, {w}, {.axes = Axes::tag()}));
  b.output("scattered", b.add(Op::kScatter, {a, i}, {.shape = {2, 2}, .axes = Axes::none()}));
  b.output("products", b.add(Op::kMatMulSum, {a, a}, {.axes = Axes::sequence()}));
  const Extent extent{3, 2, 2, 2, {1, 0, 1}, {0, 1}, {1, 1}};
  const Values out = evaluate(
      b.graph, extent, {{"a", {1, 2, 3, 4, 5, 6}}, {"w", {1, 2, 3, 4, 5, 6}}, {"i", {0, 1, 0}}});
  CHECK(out.at("all") == List{9, 12});
  CHECK(out.at("of sequences") == List{3, 4, 6, 8});
  CHECK(out.at("of prefixes") == List{3, 7, 11});
  CHECK(out.at("of tags") == List{9, 12});
  CHECK(out.at("scattered") == List{6, 8, 3, 4});
  CHECK(out.at("products") == List{9, 12, 12, 16, 26, 32, 32, 40});
}

TEST_CASE("in the reference an output over more axes repeats its value", "[reference]") {
  GraphBuilder b;
  const Graph graph = b.finish(b.real("s", {}, Axes::sequence()), kPrefixTag);
  const Extent extent{2, 2, 2, 2, {1, 0}, {0, 1}, {1, 1}};
  CHECK(evaluate(graph, extent, {{"s", {3, 4}}}).at("out") == List{4, 4, 3, 3});
}

TEST_CASE("in the reference an accumulated output is added to what is there", "[reference]") {
  GraphBuilder b;
  b.output("out", b.real("a", {2}, Axes::prefix()), Axes::prefix(), true);
  const Extent extent{2, 1, 1, 1, {0, 0}, {0}, {1}};
  const Values inputs{{"a", {1, 2, 3, 4}}};
  CHECK(evaluate(b.graph, extent, inputs, {{"out", {10, 20, 30, 40}}}).at("out") ==
        List{11, 22, 33, 44});
  CHECK(evaluate(b.graph, extent, inputs).at("out") == List{1, 2, 3, 4});
}

TEST_CASE("the reference refuses an input that is missing or of another size", "[reference]") {
  GraphBuilder b;
  const Graph graph = b.finish(b.real("a", {2}, Axes::prefix()));
  CHECK_THROWS_WITH(evaluate(graph, kSmallExtent, {}), "evaluate: the input 'a' needs 10 values");
  CHECK_THROWS_WITH(evaluate(graph, kSmallExtent, {{"a", {1, 2}}}),
                    "evaluate: the input 'a' needs 10 values");
}
