#include "dsl/layers.h"

#include <cmath>

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
Expr tensor(Shape shape) { return Expr(leaf(Op::kInput, Type::real(shape), {.name = "a"}, {})); }

}  // namespace

TEST_CASE("feed-forward layers name and shape their parameters as PyTorch does") {
  ParamOwner owner;
  const Embedding embedding(owner, "emb", 4, 3);
  const Linear linear(owner, "out", 3, 2), no_bias(owner, "u", 3, 2, Bias::kNo);
  const LayerNorm norm(owner, "norm", 3);
  const Mlp mlp(owner, "c", {5, 4, 3, 1});
  CHECK(describe(owner) ==
        "emb.weight [4, 3]; out.weight [2, 3]; out.bias [2]; u.weight [2, 3]; norm.weight [3]; "
        "norm.bias [3]; c.0.weight [4, 5]; c.0.bias [4]; c.2.weight [3, 4]; c.2.bias [3]; "
        "c.4.weight [1, 3]; c.4.bias [1]");
}

TEST_CASE("feed-forward layers start as PyTorch's do") {
  ParamOwner owner;
  const Embedding embedding(owner, "emb", 4, 3);
  const Linear linear(owner, "out", 16, 2);
  const LayerNorm norm(owner, "norm", 3);
  const auto init = [&](size_t i) { return owner.params()[i]->init; };
  CHECK(init(0).kind == Init::Kind::kNormal);
  CHECK(init(0).scale == 1);
  for (const size_t i : {1, 2}) {
    CHECK(init(i).kind == Init::Kind::kUniform);
    CHECK(init(i).scale == 0.25);
  }
  CHECK(init(3).kind == Init::Kind::kFill);
  CHECK(init(3).scale == 1);
  CHECK(init(4).scale == 0);
}

TEST_CASE("feed-forward layers compute what PyTorch's compute") {
  ParamOwner owner;
  Evaluator evaluate(owner, {2});
  const Expr x = constant({0.5, -1.0, 0.25});
  SECTION("Linear on a vector and on the rows of a matrix") {
    const Linear linear(owner, "l", 3, 2);
    CHECK_CLOSE(evaluate(linear(x)), {-0.726636069, -0.012951883});
    CHECK_CLOSE(evaluate(linear(constant({2, 3}, {0.5, -1.0, 0.25, 1, 2, 3}))),
                {-0.726636069, -0.012951883, 1.041717828, -2.024735229});
  }
  SECTION("Linear without bias") {
    CHECK_CLOSE(evaluate(Linear(owner, "l", 3, 2, Bias::kNo)(x)), {-0.226640966, 0.255334576});
  }
  SECTION("Embedding") {
    CHECK_CLOSE(evaluate(Embedding(owner, "e", 4, 3)[symbol(4)]),
                {0.328493299, 0.494679123, 0.206059243});
  }
  SECTION("Sequential(Linear, ReLU, Linear, ReLU, Linear)") {
    CHECK_CLOSE(evaluate(Mlp(owner, "m", {3, 4, 3, 2})(x)), {-0.139175443, 0.980185510});
  }
  SECTION("Sequential(Linear, Tanh, Linear)") {
    CHECK_CLOSE(evaluate(Mlp(owner, "m", {3, 4, 2}, Activation::kTanh)(x)),
                {-0.731355404, 0.368360633});
  }
  SECTION("LayerNorm") {
    CHECK_CLOSE(evaluate(LayerNorm(owner, "n", 3)(x)), {-0.125965220, -0.903423971, 0.245927620});
  }
  SECTION("softmax(K q / sqrt(d)) V") {
    const Expr keys = constant({3, 2}, {1, 2, 0.5, -1, 0, 3});
    const Expr values = constant({3, 3}, {1, 0, 2, 3, 1, -1, 0, 5, 1});
    CHECK_CLOSE(evaluate(attend(constant({0.3, -0.2}), keys, values)),
                {1.665328868, 1.587861500, 0.431462577});
  }
}

TEST_CASE("attention runs over a length T") {
  CHECK(attend(tensor({4}), tensor({kLength, 4}), tensor({kLength, 6})).shape() == Shape{6});
}

TEST_CASE("a feed-forward layer's error names the caller's line and the layer") {
  ParamOwner owner;
  const Embedding embedding(owner, "emb", 4, 3);
  const Linear linear(owner, "out", 3, 2);
  const LayerNorm norm(owner, "norm", 3);
  const Mlp mlp(owner, "c", {3, 4, 1});
  CHECK(FAILURE(embedding[symbol(5)]) ==
        "embedding 'emb': row: the index is a symbol in [0, 5), but there are 4 rows");
  CHECK(FAILURE(linear(tensor({4}))) ==
        "linear 'out': the operand must have the shape [3] or [m, 3], got [4]");
  CHECK(FAILURE(linear(1.0)) ==
        "linear 'out': the operand must have the shape [3] or [m, 3], got scalar");
  CHECK(FAILURE(linear(Expr())) ==
        "linear 'out': the operand must have the shape [3] or [m, 3], got nothing");
  CHECK(FAILURE(mlp(tensor({2, 4}))) ==
        "mlp 'c': linear 'c.0': the operand must have the shape [3] or [m, 3], got [2, 4]");
  CHECK(FAILURE(norm(tensor({2, 3}))) ==
        "layer norm 'norm': the operand must have the shape [3], got [2, 3]");
}

TEST_CASE("attention's errors name the caller's line") {
  const Expr query = tensor({4}), keys = tensor({kLength, 4});
  CHECK(FAILURE(attend(keys, keys, keys)) == "attend: the query must be a vector of a fixed size");
  CHECK(FAILURE(attend(query, query, keys)) ==
        "attend: the keys and the values must be matrices, a row for each position");
  CHECK(FAILURE(attend(query, tensor({kLength, 3}), keys)) ==
        "attend: matmul: the shapes [T, 3] and [4] do not fit together");
  CHECK(FAILURE(attend(query, tensor({5, 4}), tensor({6, 4}))) ==
        "attend: matmul: the shapes [5] and [6, 4] do not fit together");
}

TEST_CASE("a layer that cannot be made is reported at the line that makes it") {
  ParamOwner owner;
  const Linear linear(owner, "a", 3, 2);
  CHECK(FAILURE(Linear(owner, "a", 3, 2)) ==
        "the parameter name 'a.weight' is taken; give the layer another");
  CHECK(FAILURE(Embedding(owner, "e", 0, 2)) ==
        "the parameter 'e.weight' has the shape [0, 2]; every size must be positive");
  CHECK(FAILURE(Mlp(owner, "m", {3})) == "mlp 'm': needs at least two sizes, in and out");
}

TEST_CASE("what a layer computes carries the caller's line") {
  ParamOwner owner;
  const Linear linear(owner, "a", 3, 2);
  const LayerNorm norm(owner, "n", 2);
  const Expr x = tensor({3});
  const Expr y = norm(linear(x));
  const int line = __LINE__ - 1;
  std::vector<TracedPtr> open{y.node()};
  while (!open.empty()) {
    const TracedPtr node = open.back();
    open.pop_back();
    if (node == x.node()) continue;
    CHECK(node->where.line == line);
    open.insert(open.end(), node->in.begin(), node->in.end());
  }
}
