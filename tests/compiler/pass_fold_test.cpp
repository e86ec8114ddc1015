#include "compiler/pass_fold.h"

#include <cmath>
#include <limits>

#include "tests/support/check_pass.h"
#include "tests/support/random_graph.h"

using namespace scry;
using namespace scry::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Node& output_of(const Graph& graph) { return graph[graph.outputs[0].node]; }

/// The constant that `build` folds to.
template <class Build>
std::vector<double> folded(Build build) {
  GraphBuilder b;
  const Graph graph = b.finish(build(b));
  const Graph result = fold_constants(graph);
  verify(result);
  REQUIRE(output_of(result).op == Op::kConst);
  CHECK(output_of(result).type.shape == output_of(graph).type.shape);
  CHECK(output_of(result).type.kind == output_of(graph).type.kind);
  return *output_of(result).attr.data;
}

}  // namespace

TEST_CASE("folding computes operations on constants alone", "[pass]") {
  using List = std::vector<double>;
  CHECK(folded([](GraphBuilder& b) {
          const NodeId five = b.add(Op::kAdd, {b.number(2.0), b.number(3.0)});
          return b.add(Op::kMul, {b.constant({2}, {1, 2}), five});
        }) == List{5, 10});
  CHECK(folded([](GraphBuilder& b) {
          return b.add(Op::kSum, {b.add(Op::kTranspose, {b.constant({2, 2}, {1, 2, 3, 4})})});
        }) == List{4, 6});
  CHECK(folded([](GraphBuilder& b) { return b.add(Op::kOneHot, {b.number(1)}, {.i = 3}); }) ==
        List{0, 1, 0});
  CHECK(folded([](GraphBuilder& b) {
          return b.add(Op::kRow, {b.constant({2, 2}, {1, 2, 3, 4}), b.number(1)});
        }) == List{3, 4});
}

TEST_CASE("folding keeps a symbol a symbol", "[pass]") {
  CHECK(folded([](GraphBuilder& b) {
          return b.add(Op::kMod, {b.number(7), b.number(4)});
        }) == std::vector{3.0});
  CHECK(folded([](GraphBuilder& b) {
          return b.add(Op::kSub, {b.number(3), b.number(7)});
        }) == std::vector{-4.0});
  // Its range is then known exactly, so that it may index what it could not before.
  GraphBuilder b;
  const NodeId three = b.add(Op::kMod, {b.number(7), b.number(4)});
  CHECK(output_of(fold_constants(b.finish(three))).type == Type::integer(3, 4));
}

TEST_CASE("folding log 0 and exp -∞ gives -∞ and 0", "[pass]") {
  CHECK(folded([](GraphBuilder& b) { return b.add(Op::kLog, {b.number(0.0)}); }) ==
        std::vector{-kInfinity});
  CHECK(folded([](GraphBuilder& b) {
          return b.add(Op::kExp, {b.add(Op::kLog, {b.number(0.0)})});
        }) == std::vector{0.0});
  CHECK(folded([](GraphBuilder& b) {
          return b.add(Op::kLogDivide, {b.number(-kInfinity), b.number(-kInfinity)});
        }) == std::vector{-kInfinity});
}

TEST_CASE("folding leaves parameters, inputs and very large results alone", "[pass]") {
  GraphBuilder b;
  b.output("parameter", b.add(Op::kNeg, {b.param("p", {2})}));
  b.output("input", b.add(Op::kAdd, {b.real("a", {2}, Axes::prefix()), b.number(1.0)}));
  b.output("large", b.add(Op::kExpand, {b.number(1.0)}, {.shape = {65, 64}}));
  const Graph result = fold_constants(b.graph);
  for (const GraphOutput& output : result.outputs) CHECK(result[output.node].op != Op::kConst);
  CHECK(to_string(result) == to_string(b.graph));
}

TEST_CASE("folding keeps the values of random graphs", "[pass][random]") {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = random_graph(seed);
    check_same_values(graph, fold_constants(graph), 0);
  }
}
