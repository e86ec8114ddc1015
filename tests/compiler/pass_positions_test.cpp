#include "compiler/pass_positions.h"

#include "compiler/pass_dead.h"
#include "compiler/stages.h"
#include "tests/catch.h"
#include "tests/support/graph_builder.h"
#include "tests/support/lessons.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_values.h"

using namespace scry;
using namespace scry::test;

namespace {

bool any(const Node&) { return true; }

/// What is placed, and the rest with it, return what the graph did.
void check_same(const Graph& graph, const Graph& rest, const Graph& place) {
  verify(rest);
  verify(place);
  Values inputs = random_inputs(graph, kSmallExtent, -1, 1, 3);
  inputs.merge(evaluate(place, kSmallExtent, inputs));
  CHECK(difference(without_padding(evaluate(rest, kSmallExtent, inputs), rest, kSmallExtent),
                   without_padding(evaluate(graph, kSmallExtent, inputs), graph, kSmallExtent)) ==
        0);
}

}  // namespace

TEST_CASE("what varies over positions alone moves, and the rest reads it", "[positions]") {
  GraphBuilder b;
  const NodeId w = b.param("w", {4, 3}), later = b.real("later", {4}, Axes::position()),
               s = b.real("s", {3}, Axes::prefix());
  const NodeId product = b.add(Op::kMatMul, {later, w});
  const Graph graph = b.finish(b.add(Op::kAdd, {b.add(Op::kTanh, {product}), s}));
  Graph place;
  const Graph rest = remove_dead(hoist_positions(graph, "place", any, place));
  check_same(graph, rest, place);
  REQUIRE(place.outputs.size() == 1);
  CHECK(place.outputs[0].name == "place.0");
  CHECK(place.outputs[0].axes == Axes::position());
  CHECK(place[place.outputs[0].node].op == Op::kTanh);
  CHECK(count(rest, Op::kMatMul) == 0);
  CHECK(count(rest, Op::kTanh) == 0);
}

TEST_CASE("what is a sequence's is placed over sequences", "[positions]") {
  GraphBuilder b;
  const NodeId all = b.real("e", {kLength, 4}, Axes::sequence()), w = b.param("w", {4, 4});
  const NodeId keys = b.add(Op::kMatMul, {all, w});
  const NodeId query = b.real("s", {4}, Axes::prefix());
  const Graph graph =
      b.finish(b.add(Op::kMatMul, {b.add(Op::kMatMul, {query, keys}, {.j = 1}), all}));
  Graph place;
  const Graph rest = remove_dead(hoist_positions(graph, "place", any, place));
  check_same(graph, rest, place);
  REQUIRE(place.outputs.size() == 1);
  CHECK(place.outputs[0].axes == Axes::sequence());
  CHECK(count(place, Op::kMatMul) == 1);
  CHECK(count(rest, Op::kMatMul) == 2);
}

TEST_CASE("lookups, views and integers stay where they are used", "[positions]") {
  GraphBuilder b;
  const NodeId table = b.param("table", {6, 3}), x = b.integer("x", 3, Axes::position()),
               s = b.real("s", {3}, Axes::prefix());
  const NodeId twice = b.add(Op::kMul, {x, b.number(2)});
  const Graph graph = b.finish(b.add(Op::kAdd, {b.add(Op::kRow, {table, twice}), s}));
  Graph place;
  const Graph rest = hoist_positions(graph, "place", any, place);
  CHECK(place.outputs.empty());
  CHECK(to_string(rest) == to_string(graph));
}

TEST_CASE("what depends on a refused input stays, with what is made of it", "[positions]") {
  GraphBuilder b;
  const NodeId before = b.real("before.0", {3}, Axes::position()),
               e = b.real("e", {3}, Axes::position());
  const NodeId of_x = b.add(Op::kTanh, {e});
  const Graph graph = b.finish(b.add(Op::kTanh, {b.add(Op::kAdd, {of_x, before})}));
  Graph place;
  const Graph rest = hoist_positions(
      graph, "in", [](const Node& leaf) { return leaf.attr.name != "before.0"; }, place);
  check_same(graph, rest, place);
  REQUIRE(place.outputs.size() == 1);
  CHECK(place.outputs[0].name == "in.0");
  CHECK(count(place, Op::kTanh) == 1);
  CHECK(count(rest, Op::kTanh) == 2 - 1);
}

TEST_CASE("two graphs that place the same value share it", "[positions]") {
  const auto make = [](Op op) {
    GraphBuilder b;
    const NodeId a = b.real("a", {3}, Axes::position()), s = b.real("s", {3}, Axes::prefix());
    return b.finish(b.add(op, {b.add(Op::kExp, {a}), s}));
  };
  Graph place;
  const Graph sum = make(Op::kAdd), product = make(Op::kMul);
  const Graph rest_of_sum = remove_dead(hoist_positions(sum, "place", any, place));
  const Graph rest_of_product = remove_dead(hoist_positions(product, "place", any, place));
  CHECK(place.outputs.size() == 1);
  check_same(sum, rest_of_sum, place);
  check_same(product, rest_of_product, place);
}

TEST_CASE("random graphs keep their values", "[positions]") {
  int64_t num_placed = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Graph graph = random_graph(seed);
    Graph place;
    const Graph rest = remove_dead(hoist_positions(graph, "place", any, place));
    INFO("seed " << seed);
    check_same(graph, rest, place);
    num_placed += static_cast<int64_t>(place.outputs.size());
  }
  CHECK(num_placed > 50);
}

TEST_CASE("of the tagger's step nothing but prefixes' and tags' work is left", "[positions]") {
  for (const Bundle& bundle : {lesson_03(), lesson_04()}) {
    const StageGraphs stages =
        make_stages(trace(*bundle.model, bundle.proposal.get()), false, false);
    bool any_placed = false;
    for (const StageGraph& stage : stages.stages) {
      any_placed = any_placed || stage.name == "place" || stage.name == "ahead";
      if (stage.name != "score" && stage.name != "score_tag" && stage.name != "advance" &&
          stage.name != "extend")
        continue;
      for (const Node& node : stage.graph.nodes) {
        const bool is_work =
            info(node.op).cls == OpClass::kProduct || info(node.op).cls == OpClass::kReduction;
        INFO(stage.name << ": " << info(node.op).name << " over " << to_string(node.axes));
        CHECK((!is_work || node.axes.has_prefix() || node.axes.has_tag()));
      }
    }
    CHECK(any_placed);
  }
}
