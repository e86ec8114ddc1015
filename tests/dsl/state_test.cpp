#include "dsl/state.h"

#include "dsl/model.h"
#include "tests/catch.h"
#include "tests/dsl/failure.h"

using namespace scry;

namespace {

Sym symbol(int64_t size) {
  return Sym(leaf(Op::kInput, Type::integer(0, size), {.name = "x"}, {}));
}

const StateSpec& spec() {
  static const StateSpec spec = state("h", 3).and_state("m", {2, 4}).and_symbol("tag", 5);
  return spec;
}
State good() { return State{zeros({3}), zeros({2, 4}), symbol(5)}.checked(spec(), "the state"); }

}  // namespace

TEST_CASE("a state gives its components by name") {
  CHECK(good()["h"].shape() == Shape{3});
  CHECK(good()["m"].shape() == Shape{2, 4});
  CHECK(good().sym("tag").node()->type == Type::integer(0, 5));
}

TEST_CASE("an unknown state component is reported with those there are") {
  const State s = good();
  CHECK(FAILURE(s["hidden"]) == "the state has no component 'hidden'; it has: h, m, tag");
  CHECK(FAILURE(s.sym("t")) == "the state has no component 't'; it has: h, m, tag");
}

TEST_CASE("a symbol read as a tensor, or a tensor as a symbol, is told what to write") {
  const State s = good();
  CHECK(FAILURE(s["tag"]) == "the state component 'tag' is a symbol: use sym(\"tag\")");
  CHECK(FAILURE(s.sym("h")) == "the state component 'h' is a real tensor: use [\"h\"]");
}

TEST_CASE("a state of the wrong shape is reported at the line that made it") {
  CHECK(FAILURE(State{zeros({4}), zeros({2, 4}), symbol(5)}.checked(spec(), "the next state")) ==
        "the next state: the component 'h' is a [4], but is declared as [3]");
  CHECK(FAILURE(State{zeros({3}), zeros({8}), symbol(5)}.checked(spec(), "the next state")) ==
        "the next state: the component 'm' is a [8], but is declared as [2, 4]");
}

TEST_CASE("a symbol that may leave its declared range is refused") {
  CHECK(FAILURE(State{zeros({3}), zeros({2, 4}), symbol(6)}.checked(spec(), "s")) ==
        "s: the component 'tag' is a symbol in [0, 6), but is declared as symbol in [0, 5)");
  CHECK(FAILURE(State{zeros({3}), zeros({2, 4}), symbol(5) - 1}.checked(spec(), "s")) ==
        "s: the component 'tag' is a symbol in [-1, 4), but is declared as symbol in [0, 5)");
  CHECK_NOTHROW(State({zeros({3}), zeros({2, 4}), symbol(2)}).checked(spec(), "s"));
}

TEST_CASE("a symbol in a tensor's place, or a tensor in a symbol's, is refused") {
  CHECK(FAILURE(State{symbol(5), zeros({2, 4}), symbol(5)}.checked(spec(), "s")) ==
        "s: the component 'h' is a symbol in [0, 5), but is declared as [3]");
  CHECK(FAILURE(State{zeros({3}), zeros({2, 4}), zeros({1})}.checked(spec(), "s")) ==
        "s: the component 'tag' is a [1], but is declared as symbol in [0, 5)");
}

TEST_CASE("a state with a component too few or without a value is refused") {
  CHECK(FAILURE(State{zeros({3}), zeros({2, 4})}.checked(spec(), "s")) ==
        "s has 2 components, but 3 are declared");
  CHECK(FAILURE(State{Expr(), zeros({2, 4}), symbol(5)}.checked(spec(), "s")) ==
        "s: the component 'h' was never given a value");
}

TEST_CASE("a state component may be a fixed symbol, a fixed scalar or a parameter") {
  ParamOwner owner;
  const Parameter first = owner.param("first", {3}, Init::normal(1));
  const StateSpec spec = state("h", 3).and_symbol("tag", 5).and_state("count", Shape{});
  const State s = State{first, 4, 0.5}.checked(spec, "s");
  CHECK(s["h"].node()->op == Op::kParam);
  CHECK(s.sym("tag").node()->type == Type::integer(4, 5));
  CHECK(s["count"].shape() == Shape{});
  CHECK(FAILURE(State{first, 5, 0.5}.checked(spec, "s")) ==
        "s: the component 'tag' is a symbol in [5, 6), but is declared as symbol in [0, 5)");
}

TEST_CASE("a state's declaration refuses doubles and sizes that are not positive") {
  CHECK(FAILURE(state("h", 3).and_symbol("h", 2)) == "the state component 'h' stands twice");
  CHECK(FAILURE(state("h", 0)) == "the state component 'h' has the size [0]; it must be positive");
  CHECK(FAILURE(state("h", {kLength, 2})) ==
        "the state component 'h' has the size [T, 2]; it must be positive");
  CHECK(FAILURE(state("h", {-2, -2})) ==
        "the state component 'h' has the size [-2, -2]; it must be positive");
  CHECK(FAILURE(symbol_state("tag", 0)) ==
        "the state component 'tag' has the size 0; it must be positive");
}
