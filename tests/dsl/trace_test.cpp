#include "dsl/trace.h"

#include <functional>
#include <map>

#include "tests/catch.h"
#include "tests/dsl/failure.h"

using namespace scry;

namespace {

constexpr int kX = 4, kY = 3, kH = 5;
Task alphabets() { return {Alphabet::numbered(kX), Alphabet::numbered(kY)}; }

/// A model and a proposal whose parts a test can replace.
struct Parts : Model {
  Parts()
      : Model(alphabets(), state("h", kH).and_symbol("tag", kY)),
        w(param("w", {kH, kH}, Init::fill(0))) {}
  Encoding encode(const Sym& x) const override { return on_encode ? on_encode(x) : Encoding(); }
  State start(const Encoding& encoding) const override {
    return on_start ? on_start(encoding) : Model::start(encoding);
  }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    if (on_step) return on_step(s, x, y);
    return {.score = s["h"][y], .state = {matmul(s["h"], w), y}};
  }
  Parameter w;
  std::function<Encoding(const Sym&)> on_encode;
  std::function<State(const Encoding&)> on_start;
  std::function<Step(const State&, const Input&, const Sym&)> on_step;
};
struct Lookahead : Proposal {
  Lookahead() : Proposal(state("l", 2)), v(param("v", {kX, 2}, Init::fill(0))) {}
  State end() const override { return on_end ? on_end() : Proposal::end(); }
  State back(const State& later, const Input& x) const override {
    return on_back ? on_back(later, x) : State{later["l"] + v[x]};
  }
  Expr to_go(const State& later, const Input& x) const override {
    return on_to_go ? on_to_go(later, x) : Proposal::to_go(later, x);
  }
  Expr compat(const State& s, const State& later, const Candidates& all) const override {
    return on_compat ? on_compat(s, later, all)
                     : later["l"][0] + sum(s["h"]) + sum(flatten(all["h"]));
  }
  Parameter v;
  std::function<State()> on_end;
  std::function<State(const State&, const Input&)> on_back;
  std::function<Expr(const State&, const Input&)> on_to_go;
  std::function<Expr(const State&, const State&, const Candidates&)> on_compat;
};

/// The inputs of a graph: "s.h [5] @ prefix", in order of name.
std::map<std::string, std::string> inputs(const Graph& graph) {
  std::map<std::string, std::string> result;
  for (const Node& node : graph.nodes) {
    if (node.op == Op::kInput)
      result[node.attr.name] = to_string(node.type) + " @ " + to_string(node.axes);
  }
  return result;
}
std::vector<std::string> outputs(const Graph& graph) {
  std::vector<std::string> result;
  for (const GraphOutput& output : graph.outputs)
    result.push_back(output.name + " @ " + to_string(output.axes));
  return result;
}
using Inputs = std::map<std::string, std::string>;
using Names = std::vector<std::string>;

Expr one_gru_like(const Expr& before, const Expr& input) { return tanh(before * 0.5 + input); }
Expr run(Direction direction, int size, const Expr& input) {
  return scan(direction, {size}, [&](const std::vector<Expr>& before) {
    return std::vector{one_gru_like(before[0], input)};
  })[0];
}

const char* kOutside =
    "scan: a recurrence over all of x is used outside encode(); return it from encode() and read "
    "it from the encoding";

}  // namespace

TEST_CASE("a traced model names its inputs and outputs and the axes they vary over") {
  const Parts model;
  const Lookahead proposal;
  const ModelGraphs graphs = trace(model, &proposal);
  CHECK(inputs(graphs.step) == Inputs{{"s.h", "[5] @ prefix"}, {"y", "symbol in [0, 3) @ tag"}});
  CHECK(outputs(graphs.step) ==
        Names{"score @ prefix×tag", "next.h @ prefix×tag", "next.tag @ prefix×tag"});
  CHECK(inputs(graphs.start).empty());
  CHECK(outputs(graphs.start) == Names{"s.h @ sequence", "s.tag @ sequence"});
  CHECK(outputs(graphs.end) == Names{"later.l @ sequence"});
  CHECK(inputs(graphs.back) ==
        Inputs{{"later.l", "[2] @ position"}, {"x", "symbol in [0, 4) @ position"}});
  CHECK(outputs(graphs.back) == Names{"next.l @ position", "to_go @ position"});
  CHECK(inputs(graphs.extend) == Inputs{{"s.h", "[5] @ prefix"},
                                        {"later.l", "[2] @ position"},
                                        {"y", "symbol in [0, 3) @ tag"}});
  CHECK(outputs(graphs.extend) == Names{"score @ prefix×tag", "next.h @ prefix×tag",
                                        "next.tag @ prefix×tag", "compat @ prefix×tag"});
  CHECK(graphs.encode.nodes.empty());
  CHECK(graphs.features.empty());
  CHECK(graphs.has_proposal);
}

TEST_CASE("parameters are listed with their owner's name, and known by their number") {
  const Parts model;
  const Lookahead proposal;
  const ModelGraphs graphs = trace(model, &proposal);
  REQUIRE(graphs.params.size() == 4);
  CHECK(graphs.params[0].name == "model.w");
  CHECK(graphs.params[0].group == ParamGroup::kModel);
  CHECK(graphs.params[1].name == "proposal.v");
  CHECK(graphs.params[1].group == ParamGroup::kProposal);
  for (const Graph* graph : {&graphs.step, &graphs.back, &graphs.extend}) {
    for (const Node& node : graph->nodes) {
      if (node.op == Op::kParam)
        CHECK(graphs.params[static_cast<size_t>(node.attr.i)].name == node.attr.name);
    }
  }
}

TEST_CASE("a proposal that writes no to_go gets a linear layer of all that is real in its state") {
  const auto automatic = [](const ModelGraphs& graphs) {
    std::map<std::string, std::string> found;
    for (const TracedParam& param : graphs.params) {
      if (param.is_automatic) {
        CHECK(param.group == ParamGroup::kProposal);
        CHECK(param.info->init.kind == Init::Kind::kFill);
        CHECK(param.info->init.scale == 0);
        found[param.name] = to_string(param.info->shape);
      }
    }
    return found;
  };
  const Parts model;
  const Lookahead plain;
  CHECK(automatic(trace(model, &plain)) ==
        Inputs{{"proposal.to_go.bias", "[1]"}, {"proposal.to_go.weight", "[1, 2]"}});
  // Again, with the same parameters.
  CHECK(automatic(trace(model, &plain)).size() == 2);
  Lookahead adding;
  adding.on_to_go = [&](const State& later, const Input& x) {
    return adding.Proposal::to_go(later, x) + 1;
  };
  CHECK(automatic(trace(model, &adding)).size() == 2);
  Lookahead zero;
  zero.on_to_go = [&](const State&, const Input&) { return Operand(0.0).expr; };
  CHECK(automatic(trace(model, &zero)).empty());

  struct Mixed : Proposal {
    explicit Mixed(const StateSpec& spec, const char* name = "p")
        : Proposal(spec), p(param(name, {1}, Init::fill(0))) {}
    State back(const State& later, const Input&) const override {
      return State(std::vector<Value>(later.values()));
    }
    Expr compat(const State&, const State&, const Candidates&) const override { return p[0]; }
    Parameter p;
  };
  const Mixed mixed(state("m", Shape{2, 3}).and_symbol("i", 4).and_state("r", Shape{}));
  CHECK(automatic(trace(model, &mixed))["proposal.to_go.weight"] == "[1, 7]");
  const Mixed symbols(symbol_state("i", 4));
  CHECK(automatic(trace(model, &symbols)) == Inputs{{"proposal.to_go.bias", "[1]"}});
  try {
    const Mixed taken(state("l", 2), "to_go.bias");
    (void)trace(model, &taken);
    FAIL("it was not noticed");
  } catch (const ModelError& error) {
    CHECK_THAT(error.what(),
               Catch::EndsWith("the parameter name 'to_go.bias' is taken: a proposal that does not "
                               "write to_go gets one with this name; give the layer another, or "
                               "write to_go"));
  }
}

TEST_CASE("a proposal without parameters gets none by itself: nothing is to go but what C says") {
  struct Fixed : Proposal {
    Fixed() : Proposal(state("l", 2)) {}
    State back(const State& later, const Input&) const override { return {later["l"]}; }
    Expr compat(const State&, const State& later, const Candidates&) const override {
      return later["l"][0];
    }
  };
  const Parts model;
  const Fixed proposal;
  const ModelGraphs graphs = trace(model, &proposal);
  REQUIRE(graphs.params.size() == 1);
  CHECK(graphs.params.front().group == ParamGroup::kModel);
}

TEST_CASE("an expression used twice is one node") {
  Parts model;
  model.on_step = [&](const State& s, const Input&, const Sym& y) {
    const Expr shared = matmul(s["h"], model.w);
    return Step{.score = shared[y] + sum(shared), .state = {shared, y}};
  };
  const Graph step = trace(model).step;
  CHECK(std::count_if(step.nodes.begin(), step.nodes.end(),
                      [](const Node& n) { return n.op == Op::kMatMul; }) == 1);
}

TEST_CASE("without a proposal there is nothing to look ahead") {
  const ModelGraphs graphs = trace(Parts());
  CHECK_FALSE(graphs.has_proposal);
  CHECK(graphs.extend.outputs.empty());
  CHECK(graphs.back.outputs.empty());
}

TEST_CASE("an encoding is read at a position, at the ends, and as a whole") {
  Parts model;
  model.on_encode = [](const Sym& x) { return Encoding{{"e", one_hot(x, kX)}}; };
  model.on_start = [](const Encoding& encoding) {
    return State{slice(concat({encoding.mean("e"), encoding.last("e")}), 0, kH), 0};
  };
  model.on_step = [](const State& s, const Input& x, const Sym& y) {
    return Step{.score = sum(x.at("e")) + s["h"][y], .state = {s["h"], y}};
  };
  const ModelGraphs graphs = trace(model);
  CHECK(graphs.features == std::vector<std::pair<std::string, int>>{{"e", kX}});
  CHECK(inputs(graphs.encode) == Inputs{{"x", "symbol in [0, 4) @ position"}});
  CHECK(outputs(graphs.encode) == Names{"enc.e @ position"});
  CHECK(inputs(graphs.start) ==
        Inputs{{"enc.e", "[T, 4] @ sequence"}, {"last", "symbol in [0, 16777216) @ sequence"}});
  CHECK(inputs(graphs.step).at("t") == "symbol in [0, 16777216) @ position");
  CHECK(inputs(graphs.step).at("enc.e") == "[T, 4] @ sequence");
}

TEST_CASE("a recurrence becomes a graph of its own, and feeds those after it") {
  Parts model;
  model.on_encode = [](const Sym& x) {
    const Expr symbol = one_hot(x, kX);
    const Expr forward = run(Direction::kLeftToRight, kX, symbol);
    const Expr backward = run(Direction::kRightToLeft, kX, forward * 2);  // reads the first
    const Expr again = run(Direction::kLeftToRight, 2 * kX, concat({forward, backward}));
    return Encoding{{"top", again}, {"bottom", forward}};
  };
  const ModelGraphs graphs = trace(model);
  REQUIRE(graphs.scans.size() == 3);
  CHECK(graphs.scans[0].direction == Direction::kLeftToRight);
  CHECK(graphs.scans[1].direction == Direction::kRightToLeft);
  CHECK(graphs.scans[2].sizes == std::vector{2 * kX});
  CHECK(inputs(graphs.scans[0].graph) ==
        Inputs{{"before.0", "[4] @ position"}, {"x", "symbol in [0, 4) @ position"}});
  CHECK(inputs(graphs.scans[1].graph) ==
        Inputs{{"before.0", "[4] @ position"}, {"scan.0.0", "[4] @ position"}});
  CHECK(inputs(graphs.scans[2].graph) == Inputs{{"before.0", "[8] @ position"},
                                                {"scan.0.0", "[4] @ position"},
                                                {"scan.1.0", "[4] @ position"}});
  CHECK(outputs(graphs.scans[2].graph) == Names{"after.0 @ position"});
  CHECK(inputs(graphs.encode) ==
        Inputs{{"scan.0.0", "[4] @ position"}, {"scan.2.0", "[8] @ position"}});
}

TEST_CASE("a recurrence of two components that read each other is one graph") {
  Parts model;
  model.on_encode = [](const Sym& x) {
    const auto parts = scan(Direction::kLeftToRight, {kX, 2}, [&](const std::vector<Expr>& before) {
      return std::vector{before[0] + one_hot(x, kX), before[1] * sum(before[0])};
    });
    return Encoding{{"a", parts[0]}, {"b", parts[1]}};
  };
  const ModelGraphs graphs = trace(model);
  REQUIRE(graphs.scans.size() == 1);
  CHECK(outputs(graphs.scans[0].graph) == Names{"after.0 @ position", "after.1 @ position"});
  CHECK(graphs.scans[0].sizes == std::vector{kX, 2});
}

TEST_CASE("a recurrence's state is not to be had outside its body") {
  Parts model;
  int line = 0;
  model.on_encode = [&](const Sym& x) {
    Expr leaked;
    line = __LINE__ + 1;
    scan(Direction::kLeftToRight, {kX}, [&](const std::vector<Expr>& before) {
      leaked = before[0];
      return std::vector{before[0] + one_hot(x, kX)};
    });
    return Encoding{{"e", leaked}};
  };
  try {
    trace(model);
    FAIL("no error");
  } catch (const ModelError& error) {
    CHECK(error.message() == "scan: the state before a position is used outside the scan's body");
    CHECK(error.where().line == line);
  }
  // Nor in the body of another.
  model.on_encode = [](const Sym& x) {
    Expr leaked;
    const auto body = [&](const std::vector<Expr>& before) {
      leaked = before[0];
      return std::vector{before[0] + one_hot(x, kX)};
    };
    const Expr first = scan(Direction::kLeftToRight, {kX}, body)[0];
    const Expr second = run(Direction::kLeftToRight, kX, leaked);
    return Encoding{{"e", first}, {"f", second}};
  };
  CHECK_THROWS_WITH(trace(model), Catch::Contains("is used outside the scan's body"));
}

TEST_CASE("a recurrence used anywhere but in encode is refused with what to do instead") {
  const auto recurrence = [](Where where) {
    const auto same = [](const std::vector<Expr>& before) { return std::vector{before[0] + 1}; };
    return scan(Direction::kLeftToRight, {kH}, same, where)[0];
  };
  const auto refused = [](const Model& model, const Proposal* proposal = nullptr) {
    try {
      trace(model, proposal);
    } catch (const ModelError& error) {
      return error.where().line == 77 ? error.message()
                                      : "at another line: " + std::string(error.what());
    }
    return std::string("no error");
  };
  const Where where{"model.cpp", 77};
  Parts stepping;
  stepping.on_step = [&](const State& s, const Input&, const Sym& y) {
    return Step{.score = s["h"][y], .state = {s["h"] + recurrence(where), y}};
  };
  CHECK(refused(stepping) == kOutside);
  Parts starting;
  starting.on_start = [&](const Encoding&) { return State{recurrence(where), 0}; };
  CHECK(refused(starting) == kOutside);
  // One that encode returns is still not to be used as it is.
  Parts keeping;
  Expr kept;
  keeping.on_encode = [&](const Sym&) {
    kept = recurrence(where);
    return Encoding{{"e", kept}};
  };
  keeping.on_step = [&](const State& s, const Input&, const Sym& y) {
    return Step{.score = s["h"][y] + sum(kept), .state = {s["h"], y}};
  };
  CHECK(refused(keeping) == kOutside);
  const Parts good;
  Lookahead ending, backing, going, comparing;
  ending.on_end = [&] { return State{slice(recurrence(where), 0, 2)}; };
  backing.on_back = [&](const State&, const Input&) {
    return State{slice(recurrence(where), 0, 2)};
  };
  going.on_to_go = [&](const State&, const Input&) { return sum(recurrence(where)); };
  comparing.on_compat = [&](const State&, const State&, const Candidates&) {
    return sum(recurrence(where));
  };
  for (const Lookahead* proposal : {&ending, &backing, &going, &comparing})
    CHECK(refused(good, proposal) == kOutside);
}

TEST_CASE("a step without a score, or with one that is no scalar, is reported at its line") {
  Parts model;
  int line = 0;
  model.on_step = [&](const State& s, const Input&, const Sym& y) {
    line = __LINE__ + 1;
    return Step{.state = {s["h"], y}};
  };
  const auto error_of = [&] {
    try {
      trace(model);
    } catch (const ModelError& error) {
      CHECK(error.where().line == line);
      CHECK(std::string(error.where().file) == __FILE__);
      return error.message();
    }
    return std::string("no error");
  };
  CHECK(error_of() == "the step returns no score: set .score");
  model.on_step = [&](const State& s, const Input&, const Sym& y) {
    line = __LINE__ + 1;
    const Expr score = s["h"] * 2;
    return Step{.score = score, .state = {s["h"], y}};
  };
  CHECK(error_of() == "the step's score must be a scalar, but is [5]");
  model.on_step = [&](const State& s, const Input&, const Sym& y) {
    line = __LINE__ + 1;
    return Step{.score = s["h"], .state = {s["h"], y}};
  };
  CHECK(error_of() == "the step's score must be a scalar, but is [5]");
}

TEST_CASE("a state of the wrong shape is told by the function that made it") {
  const auto error_of = [](const Model& model, const Proposal* proposal = nullptr) {
    try {
      trace(model, proposal);
    } catch (const ModelError& error) {
      CHECK(std::string(error.where().file) == __FILE__);
      return error.message();
    }
    return std::string("no error");
  };
  Parts starting, stepping, short_of_one;
  starting.on_start = [](const Encoding&) { return State{zeros({4}), 0}; };
  CHECK(error_of(starting) ==
        "the start state: the component 'h' is a [4], but is declared as [5]");
  stepping.on_step = [](const State& s, const Input& x, const Sym&) {
    return Step{.score = sum(s["h"]), .state = {s["h"], x}};
  };
  CHECK(error_of(stepping) ==
        "the next state: the component 'tag' is a symbol in [0, 4), but is declared as symbol in "
        "[0, 3)");
  short_of_one.on_step = [](const State& s, const Input&, const Sym&) {
    return Step{.score = sum(s["h"]), .state = {s["h"]}};
  };
  CHECK(error_of(short_of_one) == "the next state has 1 components, but 2 are declared");
  const Parts good;
  Lookahead ending, backing, comparing, silent;
  ending.on_end = [] { return State{zeros({3})}; };
  CHECK(error_of(good, &ending) ==
        "the end state: the component 'l' is a [3], but is declared as [2]");
  backing.on_back = [](const State& later, const Input&) {
    return State{concat({later["l"], 1.0})};
  };
  CHECK(error_of(good, &backing) ==
        "the state that back returns: the component 'l' is a [3], but is declared as [2]");
  comparing.on_compat = [](const State&, const State& later, const Candidates&) {
    return later["l"];
  };
  CHECK(error_of(good, &comparing).starts_with("compat must be a scalar, but is [2]"));
  silent.on_compat = [](const State&, const State&, const Candidates&) { return Expr(); };
  silent.on_back = [](const State& later, const Input&) { return State{later["l"]}; };
  CHECK(error_of(good, &silent) == "compat returns nothing");
}

TEST_CASE("an encoding that is no vector, or stands twice, is refused") {
  Parts model;
  model.on_encode = [](const Sym& x) { return Encoding{{"e", to_real(x)}}; };
  CHECK_THROWS_WITH(trace(model),
                    Catch::Contains("the encoding 'e' must be a vector per position"));
  model.on_encode = [](const Sym&) { return Encoding{{"e", Expr()}}; };
  CHECK_THROWS_WITH(trace(model),
                    Catch::Contains("the encoding 'e' must be a vector per position"));
  model.on_encode = [](const Sym& x) {
    return Encoding{{"e", one_hot(x, kX)}, {"e", one_hot(x, kX)}};
  };
  CHECK_THROWS_WITH(trace(model), Catch::Contains("the encoding 'e' stands twice"));
}

TEST_CASE("a parameter of a model that is not being compiled is refused at its line") {
  const Parts other;
  Parts model;
  int line = 0;
  model.on_step = [&](const State& s, const Input&, const Sym& y) {
    line = __LINE__ + 1;
    return Step{.score = s["h"][y], .state = {matmul(s["h"], other.w), y}};
  };
  try {
    trace(model);
    FAIL("no error");
  } catch (const ModelError& error) {
    CHECK(error.message() ==
          "the parameter 'w' belongs to neither the model nor the proposal being compiled");
    CHECK(error.where().line == line);
  }
}

TEST_CASE("a task without symbols or tags is refused") {
  struct Empty : Model {
    explicit Empty(const Task& task) : Model(task, state("h", 2)) {}
    Step step(const State& s, const Input&, const Sym&) const override {
      return {.score = s["h"][0], .state = {s["h"]}};
    }
  };
  const std::string message =
      "the task has an empty alphabet: give Task{x, y} at least one symbol each";
  for (const Task& task :
       {Task{Alphabet(), Alphabet::numbered(2)}, Task{Alphabet::numbered(2), Alphabet()}}) {
    try {
      trace(Empty(task));
      FAIL("no error");
    } catch (const ModelError& error) {
      CHECK(error.message() == message);
      CHECK(error.where().line == Empty(task).where().line);
    }
  }
}

TEST_CASE("an exception from a model file names the function, and the constructor's line") {
  const auto failure_of = [](const Model& model, const Proposal* proposal, Where where) {
    try {
      trace(model, proposal);
    } catch (const ModelError& error) {
      CHECK(std::string(error.where().file) == where.file);
      CHECK(error.where().line == where.line);
      return error.message();
    }
    return std::string("no error");
  };
  const auto fail = [](const char* text) { throw std::out_of_range(text); };
  Parts model;
  Lookahead proposal;
  CHECK(std::string(model.where().file) == __FILE__);
  proposal.on_back = [&](const State& later, const Input&) { return fail("b"), later; };
  CHECK(failure_of(model, &proposal, proposal.where()) == "back() threw an exception: b");
  proposal.on_end = [&] { return fail("e"), State(); };
  CHECK(failure_of(model, &proposal, proposal.where()) == "end() threw an exception: e");
  model.on_step = [&](const State&, const Input&, const Sym&) { return fail("s"), Step(); };
  CHECK(failure_of(model, &proposal, model.where()) == "step() threw an exception: s");
  model.on_start = [&](const Encoding&) -> State { throw 7; };
  CHECK(failure_of(model, nullptr, model.where()) ==
        "start() threw something that is no std::exception");
  model.on_encode = [&](const Sym&) { return alphabets().x.name(99), Encoding(); };
  CHECK(failure_of(model, nullptr, model.where()) ==
        "encode() threw an exception: alphabet: there is no symbol 99 among 4");
}

TEST_CASE("a task whose sequences end on one side alone is refused") {
  struct OneSided : Model {
    explicit OneSided(const Task& task) : Model(task, state("h", 2)) {}
    Step step(const State& s, const Input&, const Sym&) const override {
      return {.score = s["h"][0], .state = {s["h"]}};
    }
  };
  const Alphabet plain = Alphabet::numbered(2), ended = plain.with_eos();
  CHECK_THROWS_WITH(trace(OneSided({ended, plain})),
                    "the task's input alphabet has an end and its output alphabet has none: make "
                    "both with_eos(), or neither");
  CHECK_THROWS_WITH(trace(OneSided({plain, ended})),
                    "the task's output alphabet has an end and its input alphabet has none: make "
                    "both with_eos(), or neither");
  CHECK_NOTHROW(trace(OneSided({ended, ended})));
}
