#include "dsl/layers_recurrent.h"

#include "tests/catch.h"
#include "tests/dsl/evaluate.h"
#include "tests/dsl/failure.h"
#include "tests/dsl/golden.h"

using namespace scry;
using namespace scry::testing;

namespace {

Sym symbol(int64_t size) {
  return Sym(leaf(Op::kInput, Type::integer(0, size), {.name = "x"}, {}));
}
Expr input() { return constant({0.5, -1.0, 0.25}); }
Expr h0() { return constant({0.1, -0.3}); }
Expr h1() { return constant({0.2, 0.4}); }
Expr c0() { return constant({0.7, 0.2}); }
Expr c1() { return constant({-0.5, 0.6}); }

}  // namespace

TEST_CASE("a Gru is PyTorch's GRUCell") {
  ParamOwner owner;
  const Gru gru(owner, "gru", 3, 2);
  CHECK(describe(owner) ==
        "gru.weight_ih [6, 3]; gru.weight_hh [6, 2]; gru.bias_ih [6]; gru.bias_hh [6]");
  for (const auto& param : owner.params()) {
    CHECK(param->init.kind == Init::Kind::kUniform);
    CHECK(param->init.scale == Approx(1 / std::sqrt(2.0)));
  }
  CHECK_CLOSE(Evaluator(owner, {0})(gru(h0(), input())), {-0.218669890, 0.020348057});
}

TEST_CASE("an Lstm is PyTorch's LSTMCell") {
  ParamOwner owner;
  const Lstm lstm(owner, "lstm", 3, 2);
  CHECK(describe(owner) ==
        "lstm.weight_ih [8, 3]; lstm.weight_hh [8, 2]; lstm.bias_ih [8]; lstm.bias_hh [8]");
  const auto [h, c] = lstm(h0(), c0(), input());
  CHECK_CLOSE(Evaluator(owner, {0})(h), {0.008109741, 0.151603115});
  CHECK_CLOSE(Evaluator(owner, {0})(c), {0.016761167, 0.251495121});
}

TEST_CASE("a StackedGru is a step of PyTorch's GRU with layers") {
  ParamOwner owner;
  const StackedGru gru(owner, "rnn", 3, 2, 2);
  CHECK(describe(owner) ==
        "rnn.weight_ih_l0 [6, 3]; rnn.weight_hh_l0 [6, 2]; rnn.bias_ih_l0 [6]; rnn.bias_hh_l0 [6]; "
        "rnn.weight_ih_l1 [6, 2]; rnn.weight_hh_l1 [6, 2]; rnn.bias_ih_l1 [6]; rnn.bias_hh_l1 [6]");
  const std::vector<Expr> next = gru({h0(), h1()}, input());
  REQUIRE(next.size() == 2);
  CHECK_CLOSE(Evaluator(owner, {0})(next[0]), {-0.218669890, 0.020348057});
  CHECK_CLOSE(Evaluator(owner, {0})(next[1]), {0.317510466, 0.191910690});
}

TEST_CASE("a StackedLstm is a step of PyTorch's LSTM with layers") {
  ParamOwner owner;
  const StackedLstm lstm(owner, "rnn", 3, 2, 2);
  CHECK(describe(owner) ==
        "rnn.weight_ih_l0 [8, 3]; rnn.weight_hh_l0 [8, 2]; rnn.bias_ih_l0 [8]; rnn.bias_hh_l0 [8]; "
        "rnn.weight_ih_l1 [8, 2]; rnn.weight_hh_l1 [8, 2]; rnn.bias_ih_l1 [8]; rnn.bias_hh_l1 [8]");
  const StackedLstmState next = lstm({h0(), h1()}, {c0(), c1()}, input());
  Evaluator evaluate(owner, {0});
  CHECK_CLOSE(evaluate(next.h[0]), {0.008109741, 0.151603115});
  CHECK_CLOSE(evaluate(next.h[1]), {-0.052894223, 0.161382663});
  CHECK_CLOSE(evaluate(next.c[0]), {0.016761167, 0.251495121});
  CHECK_CLOSE(evaluate(next.c[1]), {-0.095122811, 0.365927644});
}

TEST_CASE("stacked layers step a state that is declared for them") {
  ParamOwner owner;
  Evaluator evaluate(owner, {0});
  SECTION("gru") {
    const StackedGru gru(owner, "rnn", 3, 2, 2);
    const StateSpec spec = StackedGru::state(2, 2);
    const State s = State{h0(), h1()}.checked(spec, "s");
    const State next = gru(s, input()).checked(spec, "the next state");
    CHECK_CLOSE(evaluate(next["h0"]), {-0.218669890, 0.020348057});
    CHECK_CLOSE(evaluate(next["h1"]), {0.317510466, 0.191910690});
  }
  SECTION("lstm") {
    const StackedLstm lstm(owner, "rnn", 3, 2, 2);
    const StateSpec spec = StackedLstm::state(2, 2);
    const State s = State{h0(), c0(), h1(), c1()}.checked(spec, "s");
    const State next = lstm(s, input()).checked(spec, "the next state");
    CHECK_CLOSE(evaluate(next["h1"]), {-0.052894223, 0.161382663});
    CHECK_CLOSE(evaluate(next["c1"]), {-0.095122811, 0.365927644});
  }
}

TEST_CASE("a scan is PyTorch's GRU or LSTM along the sequence, from either end") {
  ParamOwner owner;
  const Embedding embedding(owner, "emb", 4, 3);
  const Expr e = embedding[symbol(4)];
  Evaluator evaluate(owner, {2, 0, 3});
  SECTION("gru") {
    const Gru gru(owner, "gru", 3, 2);
    CHECK_CLOSE(evaluate(gru.scan(e, Direction::kLeftToRight), 2), {-0.066381295, -0.273177614});
    CHECK_CLOSE(evaluate(gru.scan(e, Direction::kRightToLeft), 0), {-0.288215567, -0.059756176});
  }
  SECTION("lstm") {
    const Lstm lstm(owner, "lstm", 3, 2);
    CHECK_CLOSE(evaluate(lstm.scan(e, Direction::kLeftToRight), 2), {0.086422936, 0.004247490});
    CHECK_CLOSE(evaluate(lstm.scan(e, Direction::kRightToLeft), 0), {-0.017746351, 0.110311219});
  }
}

TEST_CASE("a BiGru is PyTorch's bidirectional GRU") {
  ParamOwner owner;
  const Embedding embedding(owner, "emb", 4, 3);
  const BiGru gru(owner, "bi", 3, 2, 2);
  CHECK(describe(owner) ==
        "emb.weight [4, 3]; "
        "bi.weight_ih_l0 [6, 3]; bi.weight_hh_l0 [6, 2]; bi.bias_ih_l0 [6]; bi.bias_hh_l0 [6]; "
        "bi.weight_ih_l0_reverse [6, 3]; bi.weight_hh_l0_reverse [6, 2]; "
        "bi.bias_ih_l0_reverse [6]; bi.bias_hh_l0_reverse [6]; "
        "bi.weight_ih_l1 [6, 4]; bi.weight_hh_l1 [6, 2]; bi.bias_ih_l1 [6]; bi.bias_hh_l1 [6]; "
        "bi.weight_ih_l1_reverse [6, 4]; bi.weight_hh_l1_reverse [6, 2]; "
        "bi.bias_ih_l1_reverse [6]; bi.bias_hh_l1_reverse [6]");
  const Expr encoded = gru(embedding[symbol(4)]);
  Evaluator evaluate(owner, {2, 0, 3});
  CHECK_CLOSE(evaluate(encoded, 0), {0.161068643, 0.101823665, -0.115171749, -0.330840813});
  CHECK_CLOSE(evaluate(encoded, 1), {0.232636893, 0.160148383, -0.111454681, -0.286301426});
  CHECK_CLOSE(evaluate(encoded, 2), {0.144985980, 0.236047017, -0.050362167, -0.210495370});
}

TEST_CASE("a BiLstm is PyTorch's bidirectional LSTM") {
  ParamOwner owner;
  const Embedding embedding(owner, "emb", 4, 3);
  const BiLstm lstm(owner, "bi", 3, 2, 2);
  const Expr encoded = lstm(embedding[symbol(4)]);
  Evaluator evaluate(owner, {2, 0, 3});
  CHECK_CLOSE(evaluate(encoded, 0), {0.054545678, 0.041771640, 0.038809220, -0.090600679});
  CHECK_CLOSE(evaluate(encoded, 1), {0.085267837, 0.055407747, 0.030214603, -0.075631490});
  CHECK_CLOSE(evaluate(encoded, 2), {0.081824848, 0.071151827, 0.021345511, -0.056550016});
}

TEST_CASE("a recurrent layer's error names the caller's line, the layer and the argument") {
  ParamOwner owner;
  const Gru gru(owner, "gru", 3, 2);
  const Lstm lstm(owner, "lstm", 3, 2);
  const StackedGru stack(owner, "rnn", 3, 2, 2);
  const StackedLstm lstm_stack(owner, "deep", 3, 2, 2);
  const BiGru bi(owner, "bi", 3, 2);
  const Expr h = h0(), x = input();
  CHECK(FAILURE(gru(x, h)) ==
        "gru 'gru': the state (first argument) must have the shape [2] or [m, 2], got [3]");
  CHECK(FAILURE(gru(h, h)) ==
        "gru 'gru': the input (second argument) must have the shape [3] or [m, 3], got [2]");
  CHECK(FAILURE(lstm(h, x, x)) ==
        "lstm 'lstm': the cell (second argument) must have the shape [2] or [m, 2], got [3]");
  CHECK(FAILURE(stack({h, h}, h)) ==
        "stacked gru 'rnn': gru 'rnn': the input (second argument) must have the shape [3] or "
        "[m, 3], got [2]");
  CHECK(FAILURE(stack({h}, x)) == "stacked gru 'rnn': 1 states given for 2 layers");
  CHECK(FAILURE(lstm_stack({h, h}, {h}, x)) == "stacked lstm 'deep': 1 states given for 2 layers");
  CHECK(FAILURE(bi(h)) ==
        "bidirectional gru 'bi': gru 'bi': the input (second argument) must have the shape [3] or "
        "[m, 3], got [2]");
  CHECK(FAILURE(gru.scan(h, Direction::kLeftToRight)) ==
        "gru 'gru': the input (second argument) must have the shape [3] or [m, 3], got [2]");
}

TEST_CASE("a stack on a state without its components says which is missing") {
  ParamOwner owner;
  const StackedGru stack(owner, "rnn", 3, 2, 2);
  const State s = State{h0()}.checked(state("h0", 2), "s");
  CHECK(FAILURE(stack(s, input())) == "the state has no component 'h1'; it has: h0");
}

TEST_CASE("a recurrent layer without layers or with a name taken is refused where it is made") {
  ParamOwner owner;
  const Gru gru(owner, "gru", 3, 2);
  CHECK(FAILURE(Gru(owner, "gru", 3, 2)) ==
        "the parameter name 'gru.weight_ih' is taken; give the layer another");
  CHECK(FAILURE(StackedGru(owner, "a", 3, 2, 0)) ==
        "stacked gru 'a': needs at least 1 layer, got 0");
  CHECK(FAILURE(BiLstm(owner, "b", 3, 2, 0)) ==
        "bidirectional lstm 'b': needs at least 1 layer, got 0");
}
