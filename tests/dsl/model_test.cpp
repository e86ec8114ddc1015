#include "dsl/model.h"

#include "tests/catch.h"
#include "tests/dsl/evaluate.h"
#include "tests/dsl/failure.h"

using namespace scry;

namespace {

Sym symbol(std::string name, int64_t size) {
  return Sym(leaf(Op::kInput, Type::integer(0, size), {.name = std::move(name)}, {}));
}
Expr tensor(Shape shape) { return Expr(leaf(Op::kInput, Type::real(shape), {.name = "a"}, {})); }

struct Nothing : Model {
  Nothing()
      : Model({Alphabet::numbered(3), Alphabet::numbered(2)}, state("h", 4).and_symbol("tag", 2)) {}
  Step step(const State& s, const Input&, const Sym& y) const override {
    return {.score = 0.0 * s["h"][0], .state = {s["h"], y}};
  }
};

struct NothingProposal : Proposal {
  NothingProposal() : Proposal(state("h", 4)) {}
  State back(const State& later, const Input&) const override { return later; }
  Expr compat(const State&, const State& later, const Candidates&) const override {
    return later["h"][0];
  }
};

}  // namespace

TEST_CASE("an owner lists its parameters in the order they were made") {
  ParamOwner owner;
  owner.param("b", {2}, Init::fill(3));
  const Parameter a = owner.param("a", {2, 3}, Init::normal(0.5));
  REQUIRE(owner.params().size() == 2);
  CHECK(owner.params()[0]->name == "b");
  CHECK(owner.params()[0]->init.kind == Init::Kind::kFill);
  CHECK(owner.params()[0]->init.scale == 3);
  CHECK(owner.params()[1]->shape == Shape{2, 3});
  CHECK(a.expr().node()->attr.param == owner.params()[1]);
}

TEST_CASE("a parameter with a name that is taken, or without a size, is refused") {
  ParamOwner owner;
  owner.param("a", {2}, Init::fill(0));
  CHECK(FAILURE(owner.param("a", {3}, Init::fill(0))) ==
        "the parameter name 'a' is taken; give the layer another");
  CHECK(FAILURE(owner.param("b", {3, 0}, Init::fill(0))) ==
        "the parameter 'b' has the shape [3, 0]; every size must be positive");
  CHECK(FAILURE(owner.param("b", {-3, -2}, Init::fill(0))) ==
        "the parameter 'b' has the shape [-3, -2]; every size must be positive");
  CHECK(FAILURE(owner.param("b", {kLength}, Init::fill(0))) ==
        "the parameter 'b' has the shape [T]; every size must be positive");
  CHECK(owner.params().size() == 1);
}

TEST_CASE("by default a state starts at zero, there is no encoding, and nothing is to go") {
  const Nothing model;
  const NothingProposal proposal;
  const State start = model.start({}).checked(model.state_spec(), "the start state");
  CHECK(start["h"].shape() == Shape{4});
  CHECK(start.sym("tag").node()->type == Type::integer(0, 1));
  CHECK(model.encode(symbol("x", 3)).empty());
  CHECK_NOTHROW(proposal.end().checked(proposal.state_spec(), "the end state"));
  const Input x(symbol("x", 3), symbol("t", 9), {});
  CHECK(testing::Evaluator(model, {0})(proposal.to_go(proposal.end(), x)) == std::vector{0.0});
}

TEST_CASE("a step's state is reported at the line of the step") {
  const Nothing model;
  const State s = model.start({}).checked(model.state_spec(), "s");
  const Step step{.score = s["h"][0], .state = {s["h"]}};
  const int line = __LINE__ - 1;
  CHECK(step.where.line == line);
  try {
    step.state.checked(model.state_spec(), "the next state");
    FAIL("no error");
  } catch (const ModelError& error) {
    CHECK(error.where().line == line);
    CHECK(error.message() == "the next state has 1 components, but 2 are declared");
  }
}

TEST_CASE("candidates give a row per tag of each component") {
  const StateSpec spec = state("h", 4).and_state("m", {2, 3});
  const Candidates all(State{tensor({4}), tensor({2, 3})}.checked(spec, "s"), 5);
  CHECK(all.size() == 5);
  CHECK(all["h"].shape() == Shape{5, 4});
  CHECK(all["m"].shape() == Shape{5, 6});
  CHECK(FAILURE(all["q"]) == "the state has no component 'q'; it has: h, m");
}

TEST_CASE("an encoding is seen as a matrix of all positions, and at one") {
  const Encoding encoding{{"e", tensor({kLength, 6})}};
  const Input x(symbol("x", 3), symbol("t", 1000), encoding);
  CHECK(encoding.all("e").shape() == Shape{kLength, 6});
  CHECK(encoding.first("e").shape() == Shape{6});
  CHECK(encoding.last("e").shape() == Shape{6});
  CHECK(encoding.mean("e").shape() == Shape{6});
  CHECK(x.at("e").shape() == Shape{6});
  CHECK(FAILURE(x.at("f")) == "the encoding has no feature 'f'; does Model::encode return it?");
  CHECK(FAILURE(encoding.mean("f")) ==
        "the encoding has no feature 'f'; does Model::encode return it?");
}

TEST_CASE("an input knows its place in the sequence, and its neighbours") {
  const Input x(symbol("x", 3), symbol("t", kMaxLength), {{"e", tensor({kLength, 6})}});
  const auto type = [](const Sym& sym) { return sym.node()->type; };
  CHECK(type(x.position()) == Type::integer(0, kMaxLength));
  CHECK(type(x.length()) == Type::integer(1, kMaxLength + 1));
  CHECK(type(x.encoding().length()) == type(x.length()));
  CHECK(type(x.is_first()) == Type::integer(0, 2));
  CHECK(type(x.is_last()) == Type::integer(0, 2));
  for (const int offset : {-3, -1, 0, +1, +7}) CHECK(x.at("e", offset).shape() == Shape{6});
  CHECK(x.at("e", 0).node()->op == Op::kRow);
  CHECK(x.at("e", +1).node()->where.line == __LINE__);
  CHECK(FAILURE(x.at("f", +1)) == "the encoding has no feature 'f'; does Model::encode return it?");
  CHECK(FAILURE(x.at("e", kMaxLength)) ==
        "at: the offset 16777216 is beyond the ends of every sequence; they have at most 16777216 "
        "positions");
  CHECK_THAT(FAILURE(x.encoding().all("e")[-1]), Catch::Contains("numbered from 0 to T - 1"));
}

TEST_CASE("what no memory can hold is refused where it is declared") {
  ParamOwner owner;
  CHECK(FAILURE(owner.param("w", {100000, 100000}, Init::fill(0))) ==
        "the parameter 'w' has 10000000000 elements, which is more than 2³¹ - 1");
  const auto same = [](const std::vector<Expr>& before) { return before; };
  CHECK(FAILURE(scan(Direction::kLeftToRight, {3, -1}, same)) ==
        "scan: component 1 is declared with the size -1; it must be positive");
  CHECK_THROWS_AS(constant({-2, -3}, std::vector<double>(6)), ModelError);
}

TEST_CASE("a scan runs its body along x from either end") {
  ParamOwner none;
  const Expr x = reshape(to_real(symbol("x", 9)), {1});
  // before * 2 + x, so that every position and the order show in the result.
  const auto body = [&](const std::vector<Expr>& before) {
    return std::vector<Expr>{before[0] * 2 + x};
  };
  const Expr right = scan(Direction::kLeftToRight, {1}, body)[0];
  const Expr left = scan(Direction::kRightToLeft, {1}, body)[0];
  testing::Evaluator evaluate(none, {1, 5, 3});
  CHECK(evaluate(right, 0) == std::vector{1.0});
  CHECK(evaluate(right, 2) == std::vector{17.0});
  CHECK(evaluate(left, 2) == std::vector{3.0});
  CHECK(evaluate(left, 0) == std::vector{23.0});
}

TEST_CASE("a scan's body must return what is declared") {
  const auto same = [](const std::vector<Expr>& before) { return before; };
  const auto none = [](const std::vector<Expr>&) { return std::vector<Expr>{}; };
  const auto wide = [](const std::vector<Expr>& before) {
    return std::vector<Expr>{concat({before[0], 1.0})};
  };
  const auto empty = [](const std::vector<Expr>&) { return std::vector<Expr>(1); };
  CHECK(scan(Direction::kLeftToRight, {2, 3}, same).size() == 2);
  CHECK(FAILURE(scan(Direction::kLeftToRight, {2}, none)) ==
        "scan: the body returns 0 components, but 1 are declared");
  CHECK(FAILURE(scan(Direction::kLeftToRight, {2}, wide)) ==
        "scan: component 0 has the shape [3], but is declared as [2]");
  CHECK(FAILURE(scan(Direction::kLeftToRight, {2}, empty)) ==
        "scan: component 0 has the shape nothing, but is declared as [2]");
}
