#include "compiler/pass_simplify.h"

#include "compiler/pass_dead.h"
#include "compiler/passes.h"
#include "tests/support/check_pass.h"
#include "tests/support/random_graph.h"

using namespace scry;
using namespace scry::test;

namespace {

/// The graph simplified, without what that leaves unused.
template <class Build>
Graph simplified(Build build) {
  GraphBuilder b;
  const Graph graph = b.finish(build(b));
  const Graph result = remove_dead(simplify(graph));
  check_same_values(graph, result, 1e-15);
  const Node &before = graph[graph.outputs[0].node], &after = result[result.outputs[0].node];
  CHECK(after.type.shape == before.type.shape);
  CHECK(after.type.kind == before.type.kind);
  return result;
}
Op last_op(const Graph& graph) { return graph[graph.outputs[0].node].op; }

NodeId vector(GraphBuilder& b) { return b.real("v", {4}, Axes::prefix()); }
NodeId matrix(GraphBuilder& b) { return b.real("m", {3, 4}, Axes::prefix()); }

}  // namespace

TEST_CASE("adding 0 and multiplying by 1 disappear", "[pass]") {
  const auto with = [](Op op, double number, bool first) {
    return simplified([=](GraphBuilder& b) {
      const NodeId v = vector(b), c = b.number(number);
      return b.add(op, first ? std::vector{c, v} : std::vector{v, c});
    });
  };
  for (bool first : {false, true}) {
    CHECK(last_op(with(Op::kAdd, 0, first)) == Op::kInput);
    CHECK(last_op(with(Op::kMul, 1, first)) == Op::kInput);
    CHECK(last_op(with(Op::kMul, 2, first)) == Op::kMul);
  }
  CHECK(last_op(with(Op::kSub, 0, false)) == Op::kInput);
  CHECK(last_op(with(Op::kDiv, 1, false)) == Op::kInput);
  CHECK(last_op(with(Op::kSub, 0, true)) == Op::kSub);
  CHECK(last_op(with(Op::kDiv, 1, true)) == Op::kDiv);
}

TEST_CASE("adding 0 to symbols disappears too", "[pass]") {
  CHECK(last_op(simplified([](GraphBuilder& b) {
          return b.add(
              Op::kAdd,
              {b.number(0), b.add(Op::kMul, {b.integer("i", 4, Axes::prefix()), b.number(1)})});
        })) == Op::kInput);
}

TEST_CASE("adding 0 or multiplying by 1 stays where it broadcasts", "[pass]") {
  CHECK(last_op(simplified([](GraphBuilder& b) {
          return b.add(Op::kAdd, {vector(b), b.constant({3, 1}, {0, 0, 0})});
        })) == Op::kAdd);
  CHECK(last_op(simplified([](GraphBuilder& b) {
          return b.add(Op::kMul, {b.constant({4}, {1, 1, 1, 1}), b.real("s", {}, Axes::prefix())});
        })) == Op::kMul);
  CHECK(last_op(simplified([](GraphBuilder& b) {
          return b.add(Op::kAdd, {vector(b), b.constant({4}, {0, 0, 1, 0})});
        })) == Op::kAdd);
}

TEST_CASE("what undoes its operand disappears", "[pass]") {
  for (Op op : {Op::kNeg, Op::kTranspose}) {
    CHECK(last_op(simplified(
              [&](GraphBuilder& b) { return b.add(op, {b.add(op, {matrix(b)})}); })) == Op::kInput);
  }
  CHECK(last_op(simplified([](GraphBuilder& b) {
          const NodeId flat = b.add(Op::kReshape, {matrix(b)}, {.shape = {12}});
          return b.add(Op::kReshape, {b.add(Op::kReshape, {flat}, {.shape = {2, 6}})},
                       {.shape = {3, 4}});
        })) == Op::kInput);
  CHECK(last_op(simplified([](GraphBuilder& b) {
          return b.add(Op::kExpand, {vector(b)}, {.shape = {4}});
        })) == Op::kInput);
  CHECK(last_op(simplified([](GraphBuilder& b) { return b.add(Op::kConcat, {vector(b)}); })) ==
        Op::kInput);
  CHECK(last_op(simplified([](GraphBuilder& b) {
          return b.add(Op::kSlice, {vector(b)}, {.i = 0, .j = 4});
        })) == Op::kInput);
}

TEST_CASE("one of two reshapes is left", "[pass]") {
  const Graph result = simplified([](GraphBuilder& b) {
    return b.add(Op::kReshape, {b.add(Op::kReshape, {matrix(b)}, {.shape = {12}})},
                 {.shape = {2, 6}});
  });
  CHECK(count(result, Op::kReshape) == 1);
}

TEST_CASE("a slice of a concatenation is a slice of its part", "[pass]") {
  const auto slice = [](int64_t start, int64_t length) {
    return simplified([=](GraphBuilder& b) {
      const NodeId both = b.add(Op::kConcat, {vector(b), b.real("w", {3}, Axes::tag())});
      return b.add(Op::kSlice, {both}, {.i = start, .j = length});
    });
  };
  CHECK(last_op(slice(0, 4)) == Op::kInput);
  CHECK(last_op(slice(4, 3)) == Op::kInput);
  const Graph inside = slice(5, 2);
  CHECK(count(inside, Op::kConcat) == 0);
  CHECK(inside[inside.outputs[0].node].axes == Axes::tag());  // no longer over the prefix
  CHECK(count(slice(3, 2), Op::kConcat) == 1);                // of two parts
  CHECK(count(slice(0, 7), Op::kSlice) == 0);                 // of all
}

TEST_CASE("a slice along another dimension than the concatenation stays", "[pass]") {
  const Graph result = simplified([](GraphBuilder& b) {
    const NodeId both =
        b.add(Op::kConcat, {matrix(b), b.real("w", {3, 4}, Axes::tag())}, {.axis = 1});
    return b.add(Op::kSlice, {both}, {.i = 0, .j = 2, .axis = 0});
  });
  CHECK(count(result, Op::kConcat) == 1);
}

TEST_CASE("a slice of a slice is one slice, along one dimension", "[pass]") {
  const auto slices = [](int64_t first, int64_t second) {
    return simplified([=](GraphBuilder& b) {
      const NodeId inner =
          b.add(Op::kSlice, {b.real("m", {4, 4}, Axes::prefix())}, {.i = 1, .j = 3, .axis = first});
      return b.add(Op::kSlice, {inner}, {.i = 1, .j = 1, .axis = second});
    });
  };
  CHECK(count(slices(0, 0), Op::kSlice) == 1);
  CHECK(count(slices(1, 1), Op::kSlice) == 1);
  CHECK(count(slices(0, 1), Op::kSlice) == 2);
}

TEST_CASE("a choice by a constant is made, unless it broadcasts", "[pass]") {
  const auto choose = [](int when, Shape other) {
    return last_op(simplified([&](GraphBuilder& b) {
      return b.add(Op::kSelect, {b.number(when), vector(b), b.real("w", other, Axes::tag())});
    }));
  };
  CHECK(choose(1, {4}) == Op::kInput);
  CHECK(choose(0, {4}) == Op::kInput);
  CHECK(choose(0, {}) == Op::kSelect);
}

TEST_CASE("a product takes a transposed factor as it is", "[pass]") {
  const Graph result = simplified([](GraphBuilder& b) {
    const NodeId left = b.add(Op::kTranspose, {b.real("a", {4, 3}, Axes::prefix())});
    return b.add(Op::kMatMul, {left, b.add(Op::kTranspose, {b.real("b", {5, 4}, Axes::prefix())})});
  });
  CHECK(count(result, Op::kTranspose) == 0);
  // A table can be transposed once and for all.
  CHECK(
      count(simplified([](GraphBuilder& b) {
              return b.add(Op::kMatMul, {vector(b), b.add(Op::kTranspose, {b.param("w", {5, 4})})});
            }),
            Op::kTranspose) == 1);
}

TEST_CASE("an index of an elementwise result is an index of its operands", "[pass]") {
  // tanh(v + w)[i] for each shape that can broadcast.
  for (const Shape& other : {Shape{4}, Shape{1}, Shape{}}) {
    const Graph result = simplified([&](GraphBuilder& b) {
      const NodeId sum = b.add(Op::kAdd, {vector(b), b.real("w", other, Axes::tag())});
      return b.add(Op::kElement, {sum, b.integer("i", 4, Axes::prefix())});
    });
    CHECK(last_op(result) == Op::kAdd);
  }
  for (const Shape& other : {Shape{3, 4}, Shape{1, 4}, Shape{3, 1}, Shape{4}, Shape{1}, Shape{}}) {
    const Graph result = simplified([&](GraphBuilder& b) {
      const NodeId sum = b.add(Op::kMul, {matrix(b), b.real("w", other, Axes::tag())});
      return b.add(Op::kRow, {sum, b.integer("i", 3, Axes::prefix())});
    });
    CHECK(last_op(result) == Op::kMul);
  }
  CHECK(last_op(simplified([](GraphBuilder& b) {
          const NodeId wide =
              b.add(Op::kExpand, {b.real("w", {3, 1}, Axes::prefix())}, {.shape = {3, 4}});
          return b.add(Op::kRow, {wide, b.integer("i", 3, Axes::tag())});
        })) == Op::kExpand);
  CHECK(last_op(simplified([](GraphBuilder& b) {
          const NodeId chosen =
              b.add(Op::kSelect, {b.integer("k", 2, Axes::tag()), vector(b), b.number(1.0)});
          return b.add(Op::kElement, {chosen, b.integer("i", 4, Axes::prefix())});
        })) == Op::kSelect);
}

TEST_CASE("an index of a table of parameters stays a look-up", "[pass]") {
  CHECK(last_op(simplified([](GraphBuilder& b) {
          return b.add(Op::kRow, {b.add(Op::kTanh, {b.param("p", {3, 4})}),
                                  b.integer("i", 3, Axes::prefix())});
        })) == Op::kRow);
}

TEST_CASE("an index goes through a long chain of elementwise operations", "[pass]") {
  GraphBuilder b;
  NodeId v = vector(b);
  for (int depth = 0; depth < 20; ++depth) v = b.add(Op::kTanh, {b.add(Op::kAdd, {v, v})});
  const Graph graph = b.finish(b.add(Op::kElement, {v, b.integer("i", 4, Axes::prefix())}));
  const Graph result = optimize(graph);
  check_same_values(graph, result);
  CHECK(last_op(result) == Op::kTanh);
  for (const Node& node : result.nodes) {
    INFO(to_string(result));
    if (node.op == Op::kElement) CHECK(result[node.in[0]].op == Op::kInput);
  }
}

TEST_CASE("simplifying keeps the values of random graphs", "[pass][random]") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_graph(seed, {.num_ops = 20});
    check_same_values(graph, simplify(graph), 1e-13);
  }
}
