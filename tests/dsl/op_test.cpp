#include "dsl/op.h"

#include <set>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/dsl/failure.h"

using namespace scry;

namespace {

Type real(Shape shape) { return Type::real(shape); }
Type symbol(int64_t lo, int64_t hi) { return Type::integer(lo, hi); }

Type type_of(Op op, const std::vector<Type>& in, const Attr& attr = {},
             Where where = Where::here()) {
  return infer_type(op, in, attr, where);
}

}  // namespace

TEST_CASE("every operation has a name of its own and a formula") {
  std::set<std::string> names;
  for (int i = 0; i < kNumOps; ++i) {
    const OpInfo& op = info(static_cast<Op>(i));
    REQUIRE(op.name != nullptr);
    REQUIRE(op.formula != nullptr);
    CHECK(names.insert(op.name).second);
  }
}

TEST_CASE("elementwise operations broadcast as NumPy does") {
  for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax, Op::kRatio}) {
    CHECK(type_of(op, {real({3}), real({3})}) == real({3}));
    CHECK(type_of(op, {real({}), real({3})}) == real({3}));
    CHECK(type_of(op, {real({2, 3}), real({3})}) == real({2, 3}));
    CHECK(type_of(op, {real({2, 1}), real({3})}) == real({2, 3}));
    CHECK(type_of(op, {real({kLength, 3}), real({kLength, 1})}) == real({kLength, 3}));
  }
}

TEST_CASE("shapes that do not broadcast are refused, and both are named") {
  CHECK(FAILURE(type_of(Op::kAdd, {real({3}), real({4})})) ==
        "add: the shapes [3] and [4] do not fit together");
  CHECK(FAILURE(type_of(Op::kMul, {real({2, 3}), real({2})})) ==
        "mul: the shapes [2, 3] and [2] do not fit together");
  CHECK(FAILURE(type_of(Op::kSub, {real({kLength}), real({7})})) ==
        "sub: the shapes [T] and [7] do not fit together");
}

TEST_CASE("functions of one tensor keep its shape") {
  for (const Op op : {Op::kNeg, Op::kExp, Op::kLog, Op::kTanh, Op::kSigmoid, Op::kRelu,
                      Op::kSoftplus, Op::kSqrt, Op::kFinite, Op::kStopGradient}) {
    CHECK(type_of(op, {real({})}) == real({}));
    CHECK(type_of(op, {real({2, 3})}) == real({2, 3}));
    CHECK_THROWS_AS(type_of(op, {symbol(0, 2)}), ModelError);
  }
}

TEST_CASE("arithmetic of symbols follows their ranges") {
  CHECK(type_of(Op::kAdd, {symbol(0, 3), symbol(0, 5)}) == symbol(0, 7));
  CHECK(type_of(Op::kSub, {symbol(0, 3), symbol(0, 5)}) == symbol(-4, 3));
  CHECK(type_of(Op::kMul, {symbol(0, 3), symbol(4, 5)}) == symbol(0, 9));
  CHECK(type_of(Op::kMul, {symbol(-2, 3), symbol(-3, 2)}) == symbol(-6, 7));
  CHECK(type_of(Op::kIntDiv, {symbol(0, 12), symbol(4, 5)}) == symbol(0, 3));
  CHECK(type_of(Op::kMod, {symbol(0, 12), symbol(4, 5)}) == symbol(0, 4));
  CHECK(type_of(Op::kMod, {symbol(0, 2), symbol(4, 5)}) == symbol(0, 2));
  CHECK(type_of(Op::kEqual, {symbol(0, 9), symbol(3, 4)}) == symbol(0, 2));
  CHECK(type_of(Op::kLess, {symbol(0, 9), symbol(3, 4)}) == symbol(0, 2));
  CHECK(type_of(Op::kToReal, {symbol(0, 9)}) == real({}));
}

TEST_CASE("the smaller and the larger of two symbols have the range of what they can be") {
  CHECK(type_of(Op::kMin, {symbol(0, 9), symbol(3, 4)}) == symbol(0, 4));
  CHECK(type_of(Op::kMax, {symbol(-5, 9), symbol(0, 1)}) == symbol(0, 9));
  CHECK(type_of(Op::kMin, {symbol(-5, 2), symbol(0, 9)}) == symbol(-5, 2));
  CHECK_THROWS_AS(type_of(Op::kMin, {symbol(0, 9), real({})}), ModelError);
}

TEST_CASE("arithmetic of symbols that may not fit 32 bits is refused with what to do") {
  constexpr int64_t kTop = int64_t{1} << 31;
  CHECK(type_of(Op::kMul, {symbol(0, 32768), symbol(65536, 65537)}) == symbol(0, kTop - 65535));
  CHECK(type_of(Op::kAdd, {symbol(0, kTop - 1), symbol(1, 2)}) == symbol(1, kTop));
  CHECK(type_of(Op::kSub, {symbol(-kTop + 1, 0), symbol(0, 2)}) == symbol(-kTop, 0));
  CHECK(FAILURE(type_of(Op::kMul, {symbol(0, 65536), symbol(65537, 65538)})) ==
        "mul of a symbol in [0, 65536) and a symbol in [65537, 65538) is a symbol in [0, "
        "4294967296), which does not fit 32 bits; make the ranges smaller with %, min, max or "
        "clamp");
  CHECK_THROWS_AS(type_of(Op::kAdd, {symbol(0, kTop), symbol(1, 2)}), ModelError);
  CHECK_THROWS_AS(type_of(Op::kSub, {symbol(-kTop, 0), symbol(0, 2)}), ModelError);
  // The widest ranges there are: no range overflows on the way to the refusal.
  CHECK_THROWS_AS(type_of(Op::kMul, {symbol(-kTop, kTop), symbol(-kTop, kTop)}), ModelError);
  CHECK_THROWS_AS(type_of(Op::kSub, {symbol(-kTop, kTop), symbol(-kTop, kTop)}), ModelError);
}

TEST_CASE("a division of symbols that could be by zero is refused") {
  CHECK(FAILURE(type_of(Op::kIntDiv, {symbol(0, 5), symbol(0, 3)})) ==
        "int_div: needs a ≥ 0 and b > 0, got a symbol in [0, 5) and a symbol in [0, 3)");
  CHECK_THROWS_AS(type_of(Op::kMod, {symbol(-1, 5), symbol(2, 3)}), ModelError);
}

TEST_CASE("symbols and tensors do not mix") {
  CHECK(FAILURE(type_of(Op::kAdd, {real({3}), symbol(0, 2)})) ==
        "add: operand 2 is a symbol in [0, 2), but a real tensor is needed");
  CHECK(FAILURE(type_of(Op::kEqual, {symbol(0, 2), real({})})) ==
        "equal: operand 2 is a real tensor of shape scalar, but a symbol is needed");
}

TEST_CASE("select takes a symbol and two tensors or two symbols") {
  CHECK(type_of(Op::kSelect, {symbol(0, 2), real({3}), real({})}) == real({3}));
  CHECK(type_of(Op::kSelect, {symbol(0, 2), symbol(0, 3), symbol(5, 6)}) == symbol(0, 6));
  CHECK_THROWS_AS(type_of(Op::kSelect, {real({}), real({}), real({})}), ModelError);
  CHECK_THROWS_AS(type_of(Op::kSelect, {symbol(0, 2), real({}), symbol(0, 2)}), ModelError);
}

TEST_CASE("reductions drop the last dimension, or keep it with size 1") {
  for (const Op op : {Op::kSum, Op::kMaxOf}) {
    CHECK(type_of(op, {real({3})}) == real({}));
    CHECK(type_of(op, {real({2, 3})}) == real({2}));
    CHECK(type_of(op, {real({kLength, 3})}) == real({kLength}));
    CHECK(type_of(op, {real({3})}, {.i = 1}) == real({1}));
    CHECK(type_of(op, {real({2, 3})}, {.i = 1}) == real({2, 1}));
  }
  CHECK(FAILURE(type_of(Op::kSum, {real({})})) == "sum: needs a vector or matrix, got a scalar");
}

TEST_CASE("a matrix product joins the inner dimensions") {
  CHECK(type_of(Op::kMatMul, {real({2, 3}), real({3, 4})}) == real({2, 4}));
  CHECK(type_of(Op::kMatMul, {real({3}), real({3, 4})}) == real({4}));
  CHECK(type_of(Op::kMatMul, {real({kLength}), real({kLength, 4})}) == real({4}));
  CHECK(type_of(Op::kMatMul, {real({3, 2}), real({3, 4})}, {.i = 1}) == real({2, 4}));
  CHECK(type_of(Op::kMatMul, {real({3}), real({4, 3})}, {.j = 1}) == real({4}));
  CHECK(FAILURE(type_of(Op::kMatMul, {real({2, 3}), real({4, 5})})) ==
        "matmul: the shapes [2, 3] and [4, 5] do not fit together");
  CHECK(FAILURE(type_of(Op::kMatMul, {real({}), real({4, 5})})) ==
        "matmul: operand 1 is a scalar; use * to scale");
}

TEST_CASE("layout operations rearrange what is there") {
  CHECK(type_of(Op::kTranspose, {real({2, 3})}) == real({3, 2}));
  CHECK(type_of(Op::kTranspose, {real({kLength, 3})}) == real({3, kLength}));
  CHECK_THROWS_AS(type_of(Op::kTranspose, {real({3})}), ModelError);
  CHECK(type_of(Op::kReshape, {real({2, 3})}, {.shape = {6}}) == real({6}));
  CHECK(FAILURE(type_of(Op::kReshape, {real({2, 3})}, {.shape = {5}})) ==
        "cannot reshape [2, 3] to [5]");
  CHECK_THROWS_AS(type_of(Op::kReshape, {real({kLength, 3})}, {.shape = {3}}), ModelError);
  CHECK(type_of(Op::kExpand, {real({3})}, {.shape = {2, 3}}) == real({2, 3}));
  CHECK_THROWS_AS(type_of(Op::kExpand, {real({2, 3})}, {.shape = {3}}), ModelError);
}

TEST_CASE("concat joins vectors end to end and matrices along an axis") {
  CHECK(type_of(Op::kConcat, {real({2}), real({3}), real({1})}) == real({6}));
  CHECK(type_of(Op::kConcat, {real({2, 4}), real({3, 4})}) == real({5, 4}));
  CHECK(type_of(Op::kConcat, {real({2, 4}), real({2, 1})}, {.axis = 1}) == real({2, 5}));
  CHECK_THROWS_AS(type_of(Op::kConcat, {}), ModelError);
  CHECK_THROWS_AS(type_of(Op::kConcat, {real({2}), real({2, 2})}), ModelError);
  CHECK_THROWS_AS(type_of(Op::kConcat, {real({kLength, 2}), real({2, 2})}), ModelError);
  CHECK(FAILURE(type_of(Op::kConcat, {real({2, 4}), real({3, 5})})) ==
        "concat: the shapes [2, 4] and [3, 5] do not fit together");
}

TEST_CASE("a slice stays inside its operand") {
  CHECK(type_of(Op::kSlice, {real({5})}, {.i = 1, .j = 4}) == real({4}));
  CHECK(type_of(Op::kSlice, {real({5, 6})}, {.i = 2, .j = 3, .axis = 0}) == real({3, 6}));
  CHECK(type_of(Op::kSlice, {real({5, 6})}, {.i = 2, .j = 4, .axis = 1}) == real({5, 4}));
  CHECK(FAILURE(type_of(Op::kSlice, {real({5})}, {.i = 3, .j = 3})) ==
        "slice: [3, 6) is outside [5]");
  CHECK_THROWS_AS(type_of(Op::kSlice, {real({5})}, {.i = -1, .j = 3}), ModelError);
  CHECK_THROWS_AS(type_of(Op::kSlice, {real({5})}, {.i = 0, .j = 0}), ModelError);
}

TEST_CASE("an index is certain to be in range, or refused") {
  CHECK(type_of(Op::kRow, {real({4, 3}), symbol(0, 4)}) == real({3}));
  CHECK(type_of(Op::kRow, {real({kLength, 3}), symbol(0, 1000)}) == real({3}));
  CHECK(type_of(Op::kElement, {real({4}), symbol(1, 3)}) == real({}));
  CHECK(FAILURE(type_of(Op::kRow, {real({4, 3}), symbol(0, 5)})) ==
        "row: the index is a symbol in [0, 5), but there are 4 rows");
  CHECK_THROWS_AS(type_of(Op::kElement, {real({4}), symbol(-1, 3)}), ModelError);
  CHECK_THROWS_AS(type_of(Op::kElement, {real({4}), real({})}), ModelError);
}

TEST_CASE("an index into T rows is refused only if it is wrong for every T") {
  for (const Type& index :
       {symbol(-1, 1), symbol(-7, 9), symbol(5, 6), symbol(0, kMaxLength + 9)}) {
    CHECK(type_of(Op::kRow, {real({kLength, 3}), index}) == real({3}));
    CHECK(type_of(Op::kElement, {real({kLength}), index}) == real({}));
    CHECK(type_of(Op::kUpdateRow, {real({kLength, 3}), index, real({3})}) == real({kLength, 3}));
  }
  CHECK(FAILURE(type_of(Op::kRow, {real({kLength, 3}), symbol(-3, 0)})) ==
        "row: the index is a symbol in [-3, 0), but the T rows are numbered from 0 to T - 1, and T "
        "is at most 16777216");
  CHECK_THROWS_AS(type_of(Op::kElement, {real({kLength}), symbol(-1, 0)}), ModelError);
  CHECK_THROWS_AS(type_of(Op::kElement, {real({kLength}), symbol(kMaxLength, kMaxLength + 1)}),
                  ModelError);
  CHECK_THROWS_AS(type_of(Op::kUpdateRow, {real({kLength, 3}), symbol(-1, 0), real({3})}),
                  ModelError);
}

TEST_CASE("a shape that no tensor can have is refused") {
  CHECK_THROWS_AS(type_of(Op::kReshape, {real({6})}, {.shape = {-2, -3}}), ModelError);
  CHECK_THROWS_AS(type_of(Op::kReshape, {real({1})}, {.shape = {kLength}}), ModelError);
  CHECK_THROWS_AS(type_of(Op::kOneHot, {symbol(0, 2)}, {.i = kLength}), ModelError);
  CHECK(FAILURE(type_of(Op::kMul, {real({70000, 1}), real({70000})})) ==
        "mul: the shape [70000, 70000] has 4900000000 elements, which is more than 2³¹ - 1");
  CHECK_THROWS_AS(type_of(Op::kConcat, {real({2000000000}), real({2000000000})}), ModelError);
}

TEST_CASE("update_row takes a row of the matrix's width") {
  CHECK(type_of(Op::kUpdateRow, {real({4, 3}), symbol(0, 4), real({3})}) == real({4, 3}));
  CHECK_THROWS_AS(type_of(Op::kUpdateRow, {real({4, 3}), symbol(0, 4), real({4})}), ModelError);
  CHECK_THROWS_AS(type_of(Op::kUpdateRow, {real({4, 3}), symbol(0, 5), real({3})}), ModelError);
}

TEST_CASE("one_hot needs room for every value of its symbol") {
  CHECK(type_of(Op::kOneHot, {symbol(0, 4)}, {.i = 4}) == real({4}));
  CHECK_THROWS_AS(type_of(Op::kOneHot, {symbol(0, 5)}, {.i = 4}), ModelError);
}

TEST_CASE("candidates are one flat row per tag") {
  CHECK(type_of(Op::kCandidates, {real({8})}, {.i = 3}) == real({3, 8}));
  CHECK(type_of(Op::kCandidates, {real({2, 4})}, {.i = 3}) == real({3, 8}));
  CHECK(type_of(Op::kAtTag, {real({3, 8})}) == real({8}));
}

TEST_CASE("an operation with too few operands is refused") {
  CHECK(FAILURE(type_of(Op::kAdd, {real({})})) == "add takes 2 operands, got 1");
}
