#include "dsl/expr.h"

#include <string>
#include <vector>

#include "dsl/model.h"
#include "tests/catch.h"
#include "tests/dsl/evaluate.h"
#include "tests/dsl/failure.h"

using namespace scry;

namespace {

Sym symbol(int64_t size) {
  return Sym(leaf(Op::kInput, Type::integer(0, size), {.name = "x"}, {}));
}
Expr tensor(Shape shape) { return Expr(leaf(Op::kInput, Type::real(shape), {.name = "a"}, {})); }
Type type_of(const Sym& sym) { return sym.node()->type; }

double value_of(const Expr& expr) {
  ParamOwner none;
  return testing::Evaluator(none, {0})(expr)[0];
}

}  // namespace

TEST_CASE("a shape mismatch names the user's line and both shapes") {
  const Expr a = zeros({3}), b = zeros({4});
  const int line = __LINE__ + 2;
  try {
    a + b;
    FAIL("no error");
  } catch (const ModelError& error) {
    CHECK(error.where().line == line);
    CHECK(std::string(error.what()) == std::string(__FILE__) + ":" + std::to_string(line) +
                                           ": add: the shapes [3] and [4] do not fit together");
  }
}

TEST_CASE("an expression remembers the line that wrote it") {
  const Expr a = zeros({3});
  const Expr b = exp(a) * 2;
  CHECK(b.node()->where.line == __LINE__ - 1);
  CHECK(b.node()->in[0]->where.line == __LINE__ - 2);
}

TEST_CASE("every kind of call reports a mismatch at the caller's line") {
  const Expr a = zeros({3}), m = zeros({2, 4});
  CHECK(FAILURE(matmul(a, m)) == "matmul: the shapes [3] and [2, 4] do not fit together");
  CHECK(FAILURE(matmul(m, a)) == "matmul: the shapes [2, 4] and [3] do not fit together");
  CHECK(FAILURE(dot(a, m)) == "dot: needs two vectors of one size, got [3] and [2, 4]");
  CHECK(FAILURE(reshape(a, {4})) == "cannot reshape [3] to [4]");
  CHECK(FAILURE(concat({a, m})) == "concat: operand 2 must be a vector, got shape [2, 4]");
  CHECK(FAILURE(slice(a, 2, 2)) == "slice: [2, 4) is outside [3]");
  CHECK(FAILURE(slice_rows(m, 2, 1)) == "slice: [2, 3) is outside [2, 4]");
  CHECK(FAILURE(transpose(a)) == "transpose: operand 1 must be a matrix, got shape [3]");
  CHECK(FAILURE(sum(1.0)) == "sum: needs a vector or matrix, got a scalar");
  CHECK(FAILURE(update_row(m, 0, a)) ==
        "update_row: the shapes [2, 4] and [3] do not fit together");
  CHECK(FAILURE(min(a, zeros({5}))) == "min: the shapes [3] and [5] do not fit together");
  CHECK(FAILURE(select(symbol(2), a, zeros({5}))) ==
        "select: the shapes [3] and [5] do not fit together");
  CHECK(FAILURE(flatten(tensor({kLength, 3}))) ==
        "flatten: a length T is not known when the model is compiled");
  CHECK(FAILURE(zeros({kLength, 3})) == "a constant cannot have the shape [T, 3]");
  CHECK(FAILURE(constant({2, 2}, {1, 2, 3})) == "constant: 3 values do not fill the shape [2, 2]");
}

TEST_CASE("a symbol out of range is refused at the line that indexes with it") {
  const Expr table = zeros({4, 3});
  CHECK(table[symbol(4)].shape() == Shape{3});
  CHECK(FAILURE(table[symbol(5)]) == "row: the index is a symbol in [0, 5), but there are 4 rows");
  CHECK(FAILURE(table[4]) == "row: the index is a symbol in [4, 5), but there are 4 rows");
  CHECK(FAILURE(zeros({4})[-1]) ==
        "element: the index is a symbol in [-1, 0), but there are 4 rows");
  CHECK(FAILURE(one_hot(symbol(5), 4)) ==
        "one_hot: the index is a symbol in [0, 5), but there are 4 rows");
}

TEST_CASE("an expression that was never given a value is refused, not a crash") {
  const Expr nothing, a = zeros({3});
  const std::string never = ": an operand was never given a value";
  CHECK(FAILURE(nothing + a) == "add" + never);
  CHECK(FAILURE(a * nothing) == "mul" + never);
  CHECK(FAILURE(nothing[0]) == "[]" + never);
  CHECK(FAILURE(matmul(nothing, a)) == "matmul" + never);
  CHECK(FAILURE(outer(a, nothing)) == "outer" + never);
  CHECK(FAILURE(outer(nothing, a)) == "outer" + never);
  CHECK(FAILURE(concat({a, nothing})) == "concat" + never);
  CHECK(FAILURE(flatten(nothing)) == "flatten" + never);
  CHECK(FAILURE(mean(nothing)) == "mean" + never);
  CHECK(FAILURE(log_softmax(nothing)) == "max_of" + never);
}

TEST_CASE("numbers and parameters stand wherever an expression may") {
  ParamOwner owner;
  const Parameter weight = owner.param("weight", {2, 3}, Init::normal(1));
  CHECK((1 - weight).shape() == Shape{2, 3});
  CHECK(matmul(weight, zeros({3})).shape() == Shape{2});
  CHECK(log_softmax(weight)[symbol(2)].shape() == Shape{3});
  CHECK(weight[1].shape() == Shape{3});
  CHECK(FAILURE(weight[2]) == "row: the index is a symbol in [2, 3), but there are 2 rows");
  CHECK(FAILURE(weight + zeros({4})) == "add: the shapes [2, 3] and [4] do not fit together");
}

TEST_CASE("functions along the last dimension keep the shape, on a length T too") {
  for (const Shape& shape : {Shape{3}, Shape{2, 3}, Shape{kLength}, Shape{kLength, 3}}) {
    CHECK(softmax(tensor(shape)).shape() == shape);
    CHECK(log_softmax(tensor(shape)).shape() == shape);
    CHECK(normalize(tensor(shape)).shape() == shape);
  }
}

TEST_CASE("reductions of vectors are scalars and of matrices vectors") {
  CHECK(logsumexp(tensor({3})).shape() == Shape{});
  CHECK(logsumexp(tensor({2, 3})).shape() == Shape{2});
  CHECK(mean(tensor({2, 3})).shape() == Shape{2});
  CHECK(max_of(tensor({3})).shape() == Shape{});
  CHECK(sum_rows(tensor({2, 3})).shape() == Shape{3});
  CHECK(sum_rows(tensor({kLength, 3})).shape() == Shape{3});
  CHECK(max_rows(tensor({kLength, 3})).shape() == Shape{3});
  CHECK(FAILURE(mean(tensor({kLength}))) == "mean: use sum_rows and divide by the length T");
}

TEST_CASE("products and layouts have the shapes of linear algebra") {
  CHECK(matmul(tensor({kLength, 3}), tensor({3})).shape() == Shape{kLength});
  CHECK(matmul(tensor({kLength}), tensor({kLength, 5})).shape() == Shape{5});
  CHECK(dot(tensor({3}), tensor({3})).shape() == Shape{});
  CHECK(outer(tensor({2}), tensor({3})).shape() == Shape{2, 3});
  CHECK(flatten(tensor({2, 3})).shape() == Shape{6});
  CHECK(concat({tensor({2}), 1.0, tensor({3})}).shape() == Shape{6});
  CHECK(concat({tensor({2, 3}), tensor({1, 3})}).shape() == Shape{3, 3});
  CHECK(slice(tensor({4, 6}), 1, 2).shape() == Shape{4, 2});
  CHECK(slice_rows(tensor({4, 6}), 1, 2).shape() == Shape{2, 6});
}

TEST_CASE("symbols add, multiply, divide and compare within their ranges") {
  const Sym x = symbol(3), y = symbol(4);
  CHECK(type_of(x * 4 + y) == Type::integer(0, 12));
  CHECK(type_of((x * 4 + y) / 4) == Type::integer(0, 3));
  CHECK(type_of((x * 4 + y) % 4) == Type::integer(0, 4));
  CHECK(type_of(x - 1) == Type::integer(-1, 2));
  for (const Sym& truth : {x == y, x != y, x<y, x> y, x <= y, x >= y, !x, x && y, x || y}) {
    CHECK(type_of(truth) == Type::integer(0, 2));
  }
  CHECK(type_of(select(x == 0, 7, y)) == Type::integer(0, 8));
  CHECK(select(x == 0, 0.0, tensor({3})).shape() == Shape{3});
}

TEST_CASE("min, max and clamp of symbols narrow their ranges, beside those of numbers") {
  const Sym n = symbol(9);
  const Expr e = tensor({4});
  const Type three = Type::integer(0, 4);
  CHECK(min(n, 3).node()->type == three);
  CHECK(min(3, n).node()->type == three);
  CHECK(max(0, n - 4).node()->type == Type::integer(0, 5));
  CHECK(clamp(n + 1, 0, 3).node()->type == Type::integer(1, 4));
  CHECK(clamp(n - 4, n - 6, 3).node()->type == Type::integer(-4, 4));
  CHECK(min(e, 3).shape() == Shape{4});
  CHECK(min(e, 3.0).shape() == Shape{4});
  CHECK(max(0, e).shape() == Shape{4});
  CHECK(clamp(e, -1, 1.5).shape() == Shape{4});
  // A counter that stops at 3 fits a state of 4.
  CHECK_NOTHROW(State{min(n % 4 + 1, 3)}.checked(symbol_state("count", 4), "the state"));
}

TEST_CASE("fixed integers are symbols whatever their C++ type, if they fit") {
  const Sym n = symbol(9);
  CHECK((n + size_t{2}).node()->type == Type::integer(2, 11));
  CHECK((n + 2L).node()->type == Type::integer(2, 11));
  CHECK(select(n == 0, 1, 0).node()->type == Type::integer(0, 2));
  CHECK(FAILURE(n + 5000000000L) == "the symbol 5000000000 does not fit 32 bits");
  CHECK(FAILURE(n < ~uint64_t{0}) == "the symbol 18446744073709551616 does not fit 32 bits");
}

TEST_CASE("arithmetic on positions fits 32 bits; a hash of wide symbols does not") {
  const Sym t = symbol(kMaxLength), x = symbol(50000);
  CHECK((t * 2 + 1).node()->type == Type::integer(1, 2 * int64_t{kMaxLength}));
  CHECK((t * 100).node()->type.hi == int64_t{100} * kMaxLength - 99);
  CHECK_THAT(FAILURE((x * 65537) % 1024), Catch::Contains("does not fit 32 bits"));
  CHECK_THAT(FAILURE(t * t), Catch::Contains("make the ranges smaller"));
  CHECK((x % 1024 * 65537 % 1024).node()->type == Type::integer(0, 1024));
}

TEST_CASE("ones and zeros are what they say") {
  CHECK(value_of(sum(ones({3, 4})[0])) == 4);
  CHECK(value_of(sum(zeros({3, 4})[0])) == 0);
}

TEST_CASE("softmax, logsumexp and mean are what they say") {
  const Expr a = constant({1, 2, 4});
  const double total = std::exp(1) + std::exp(2) + std::exp(4);
  CHECK(value_of(logsumexp(a)) == Approx(std::log(total)));
  CHECK(value_of(softmax(a)[1]) == Approx(std::exp(2) / total));
  CHECK(value_of(log_softmax(a)[2]) == Approx(4 - std::log(total)));
  CHECK(value_of(mean(a)) == Approx(7.0 / 3));
  CHECK(value_of(logsumexp(constant({1000, 1000}))) == Approx(1000 + std::log(2)));
}
