#include "dsl/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace scry {
namespace {

constexpr std::array<OpInfo, kNumOps> kOps{{
    {"input", OpClass::kLeaf, 0, "a value given at run time", AxesRule::kNamed},
    {"param", OpClass::kLeaf, 0, "a trained parameter"},
    {"const", OpClass::kLeaf, 0, "a fixed table"},
    {"scan", OpClass::kLeaf, 0, "the output at this position of a recurrence over all of x"},
    {"add", OpClass::kElementwise, 2, "a + b"},
    {"sub", OpClass::kElementwise, 2, "a - b"},
    {"mul", OpClass::kElementwise, 2, "a b"},
    {"div", OpClass::kElementwise, 2, "a / b"},
    {"neg", OpClass::kElementwise, 1, "-a"},
    {"exp", OpClass::kElementwise, 1, "exp a"},
    {"log", OpClass::kElementwise, 1, "log a, with gradient 0 at a = 0"},
    {"tanh", OpClass::kElementwise, 1, "tanh a"},
    {"sigmoid", OpClass::kElementwise, 1, "1 / (1 + exp -a)"},
    {"relu", OpClass::kElementwise, 1, "max(a, 0)"},
    {"softplus", OpClass::kElementwise, 1, "log(1 + exp a)"},
    {"sqrt", OpClass::kElementwise, 1, "√a, with gradient 0 at a = 0"},
    {"min", OpClass::kElementwise, 2, "min(a, b)"},
    {"max", OpClass::kElementwise, 2, "max(a, b)"},
    {"select", OpClass::kElementwise, 3, "c ? a : b, for a symbol c"},
    {"if_greater", OpClass::kElementwise, 4, "a > b ? c : d"},
    {"log_divide", OpClass::kElementwise, 2, "log(exp a / exp b), with 0/0 = 0"},
    {"ratio", OpClass::kElementwise, 2, "a / b, with 0 where b = 0"},
    {"finite", OpClass::kElementwise, 1, "a if finite, else 0"},
    {"stop_gradient", OpClass::kElementwise, 1, "a, with gradient 0"},
    {"to_real", OpClass::kElementwise, 1, "the symbol as a number"},
    {"expand", OpClass::kElementwise, 1, "a, broadcast to a shape"},
    {"int_div", OpClass::kElementwise, 2, "⌊a / b⌋"},
    {"mod", OpClass::kElementwise, 2, "a mod b"},
    {"equal", OpClass::kElementwise, 2, "a = b"},
    {"less", OpClass::kElementwise, 2, "a < b"},
    {"sum", OpClass::kReduction, 1, "Σ_i a_i"},
    {"max_of", OpClass::kReduction, 1, "max_i a_i"},
    {"matmul", OpClass::kProduct, 2, "A B"},
    {"transpose", OpClass::kLayout, 1, "Aᵀ"},
    {"reshape", OpClass::kLayout, 1, "the same elements in another shape"},
    {"concat", OpClass::kLayout, -1, "[a; b; …]"},
    {"slice", OpClass::kLayout, 1, "a_{i:i+n}"},
    {"row", OpClass::kIndexing, 2, "A_i, with i clamped to [0, T) where A has T rows"},
    {"element", OpClass::kIndexing, 2, "a_i, likewise"},
    {"update_row", OpClass::kIndexing, 3, "A, with row i replaced by v, likewise"},
    {"one_hot", OpClass::kIndexing, 1, "the unit vector e_i"},
    {"candidates", OpClass::kAxes, 1, "a for every tag, one row each", AxesRule::kWithoutTag},
    {"at_tag", OpClass::kAxes, 1, "row y_t of A", AxesRule::kWithTag},
    {"sum_axes", OpClass::kAxes, 1, "the sum over all axes but those named", AxesRule::kNamed},
    {"scatter", OpClass::kAxes, 2, "Σ e_i aᵀ over all axes but those named", AxesRule::kNamed},
    {"matmul_sum", OpClass::kAxes, 2, "Σ Aᵀ B over all axes but those named", AxesRule::kNamed},
}};

/// Every dimension is positive or T.
bool is_shape(const Shape& shape) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 1 && shape[axis] != kLength) return false;
  }
  return true;
}

/// A shape with T can only gain or lose dimensions of 1.
bool can_reshape(const Shape& from, const Shape& to) {
  if (from.is_static() && to.is_static()) return from.size() == to.size();
  const auto without_ones = [](const Shape& s) {
    std::vector<int> dims;
    for (int axis = 0; axis < s.rank(); ++axis) {
      if (s[axis] != 1) dims.push_back(s[axis]);
    }
    return dims;
  };
  return without_ones(from) == without_ones(to);
}

class Rule {
 public:
  Rule(Op op, std::span<const Type> in, const Attr& attr, Where where)
      : op_(op), in_(in), attr_(attr), where_(where) {}

  Type apply() const {
    check_arity();
    const Type type = infer();
    if (type.is_int()) {
      want_32_bits(type);
    } else {
      want_countable(type.shape);
    }
    return type;
  }

 private:
  Type infer() const {
    switch (op_) {
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kMin:
      case Op::kMax:
        return in_[0].is_int() && in_[1].is_int() ? integer_arithmetic() : elementwise(0);
      case Op::kSelect:
        return select();
      case Op::kToReal:
        want_int(0);
        return Type::real({});
      case Op::kIntDiv:
      case Op::kMod:
        return integer_division();
      case Op::kEqual:
      case Op::kLess:
        want_int(0), want_int(1);
        return Type::integer(0, 2);
      case Op::kExpand:
        want_real(0);
        if (broadcast(name(), shape(0), attr_.shape, where_) != attr_.shape) mismatch(0);
        return Type::real(attr_.shape);
      case Op::kSum:
      case Op::kMaxOf:
        return reduction();
      case Op::kMatMul:
        return matmul();
      case Op::kTranspose:
        want_rank(0, 2);
        return Type::real({shape(0)[1], shape(0)[0]});
      case Op::kReshape:
        want_real(0);
        if (!is_shape(attr_.shape) || !can_reshape(shape(0), attr_.shape)) {
          fail(fmt::format("cannot reshape {} to {}", to_string(shape(0)), to_string(attr_.shape)));
        }
        return Type::real(attr_.shape);
      case Op::kConcat:
        return concat();
      case Op::kSlice:
        return slice();
      case Op::kRow:
        want_rank(0, 2);
        want_index(1, shape(0)[0]);
        return Type::real({shape(0)[1]});
      case Op::kElement:
        want_rank(0, 1);
        want_index(1, shape(0)[0]);
        return Type::real({});
      case Op::kUpdateRow:
        want_rank(0, 2);
        want_index(1, shape(0)[0]);
        want_rank(2, 1);
        if (shape(2)[0] != shape(0)[1]) mismatch(0, 2);
        return in_[0];
      case Op::kOneHot:
        if (attr_.i < 1) fail(fmt::format("one_hot: a vector cannot have {} elements", attr_.i));
        want_index(0, static_cast<int>(attr_.i));
        return Type::real({static_cast<int>(attr_.i)});
      case Op::kCandidates:
        want_real(0);
        if (!shape(0).is_static()) fail("candidates: a state has no dimension of length T");
        return Type::real({static_cast<int>(attr_.i), static_cast<int>(shape(0).size())});
      case Op::kAtTag:
        want_rank(0, 2);
        return Type::real({shape(0)[1]});
      case Op::kSumAxes:
        return in_[0];
      case Op::kScatter:
        want_index(1, attr_.shape[0]);
        return Type::real(attr_.shape);
      case Op::kMatMulSum:
        return Type::real({shape(0).last(), shape(1).last()});
      default:
        return elementwise(0);
    }
  }

  const char* name() const { return info(op_).name; }
  const Shape& shape(size_t i) const { return in_[i].shape; }

  [[noreturn]] void fail(const std::string& message) const { throw ModelError(where_, message); }
  [[noreturn]] void mismatch(size_t i) const {
    fail(
        fmt::format("{}: {} does not fit {}", name(), to_string(shape(i)), to_string(attr_.shape)));
  }
  [[noreturn]] void mismatch(size_t i, size_t j) const {
    fail(fmt::format("{}: the shapes {} and {} do not fit together", name(), to_string(shape(i)),
                     to_string(shape(j))));
  }
  void check_arity() const {
    const int arity = info(op_).arity;
    if (arity >= 0 && in_.size() != static_cast<size_t>(arity)) {
      fail(fmt::format("{} takes {} operands, got {}", name(), arity, in_.size()));
    }
  }
  void want_real(size_t i) const {
    if (in_[i].is_int()) {
      fail(fmt::format("{}: operand {} is a {}, but a real tensor is needed", name(), i + 1,
                       to_string(in_[i])));
    }
  }
  void want_int(size_t i) const {
    if (!in_[i].is_int()) {
      fail(fmt::format("{}: operand {} is a real tensor of shape {}, but a symbol is needed",
                       name(), i + 1, to_string(shape(i))));
    }
  }
  void want_rank(size_t i, int rank) const {
    want_real(i);
    if (shape(i).rank() != rank) {
      fail(fmt::format("{}: operand {} must be a {}, got shape {}", name(), i + 1,
                       rank == 2 ? "matrix" : "vector", to_string(shape(i))));
    }
  }
  /// Kernels compute with 32 bits. The operands fit them, so that no range overflows its 64.
  void want_32_bits(const Type& type) const {
    constexpr auto kMin = int64_t{std::numeric_limits<int32_t>::min()};
    constexpr auto kMax = int64_t{std::numeric_limits<int32_t>::max()};
    if (type.lo >= kMin && type.hi - 1 <= kMax) return;
    std::string operands;
    for (const Type& in : in_) operands += (operands.empty() ? "" : " and a ") + to_string(in);
    fail(
        fmt::format("{} of a {} is a {}, which does not fit 32 bits; make the ranges smaller with "
                    "%, min, max or clamp",
                    name(), operands, to_string(type)));
  }
  void want_countable(const Shape& s) const {
    if (!s.is_static() || s.size() <= std::numeric_limits<int32_t>::max()) return;
    fail(fmt::format("{}: the shape {} has {} elements, which is more than 2³¹ - 1", name(),
                     to_string(s), s.size()));
  }
  /// An index into a known number of rows is in range for certain, or the model is refused: kernels
  /// do not check again. Into T rows it may be anything that is not wrong for every T: it is
  /// clamped.
  void want_index(size_t i, int count) const {
    want_int(i);
    if (count == kLength) {
      if (in_[i].hi > 0 && in_[i].lo < kMaxLength) return;
      fail(fmt::format(
          "{}: the index is a {}, but the T rows are numbered from 0 to T - 1, and T is "
          "at most {}",
          name(), to_string(in_[i]), kMaxLength));
    }
    if (in_[i].lo < 0 || in_[i].hi > count) {
      fail(fmt::format("{}: the index is a {}, but there are {} rows", name(), to_string(in_[i]),
                       count));
    }
  }

  Type elementwise(size_t first) const {
    Shape out;
    for (size_t i = first; i < in_.size(); ++i) {
      want_real(i);
      out = i == first ? shape(i) : broadcast(name(), out, shape(i), where_);
    }
    return Type::real(out);
  }
  Type select() const {
    want_int(0);
    if (in_[1].is_int() && in_[2].is_int()) {
      return Type::integer(std::min(in_[1].lo, in_[2].lo), std::max(in_[1].hi, in_[2].hi));
    }
    return elementwise(1);
  }
  Type integer_arithmetic() const {
    const auto [a_lo, a_hi] = std::pair(in_[0].lo, in_[0].hi - 1);
    const auto [b_lo, b_hi] = std::pair(in_[1].lo, in_[1].hi - 1);
    if (op_ == Op::kAdd) return Type::integer(a_lo + b_lo, a_hi + b_hi + 1);
    if (op_ == Op::kSub) return Type::integer(a_lo - b_hi, a_hi - b_lo + 1);
    if (op_ == Op::kMin) return Type::integer(std::min(a_lo, b_lo), std::min(a_hi, b_hi) + 1);
    if (op_ == Op::kMax) return Type::integer(std::max(a_lo, b_lo), std::max(a_hi, b_hi) + 1);
    const auto [lo, hi] = std::minmax({a_lo * b_lo, a_lo * b_hi, a_hi * b_lo, a_hi * b_hi});
    return Type::integer(lo, hi + 1);
  }
  Type integer_division() const {
    want_int(0), want_int(1);
    if (in_[0].lo < 0 || in_[1].lo <= 0) {
      fail(fmt::format("{}: needs a ≥ 0 and b > 0, got a {} and a {}", name(), to_string(in_[0]),
                       to_string(in_[1])));
    }
    if (op_ == Op::kIntDiv) {
      return Type::integer(in_[0].lo / (in_[1].hi - 1), (in_[0].hi - 1) / in_[1].lo + 1);
    }
    return Type::integer(0, std::min(in_[0].hi, in_[1].hi - 1));
  }
  Type reduction() const {
    want_real(0);
    if (shape(0).rank() == 0)
      fail(fmt::format("{}: needs a vector or matrix, got a scalar", name()));
    if (shape(0).rank() == 1) return Type::real(attr_.i != 0 ? Shape{1} : Shape{});
    return Type::real(attr_.i != 0 ? Shape{shape(0)[0], 1} : Shape{shape(0)[0]});
  }
  Type matmul() const {
    want_real(0);
    if (shape(0).rank() == 0) fail("matmul: operand 1 is a scalar; use * to scale");
    want_rank(1, 2);
    const Shape &a = shape(0), &b = shape(1);
    const bool vector = a.rank() == 1;
    const int m = vector ? 1 : a[attr_.i != 0 ? 1 : 0];
    const int k = vector ? a[0] : a[attr_.i != 0 ? 0 : 1];
    const int inner = b[attr_.j != 0 ? 1 : 0], n = b[attr_.j != 0 ? 0 : 1];
    if (k != inner) mismatch(0, 1);
    return Type::real(vector ? Shape{n} : Shape{m, n});
  }
  int joined(int a, int b) const {
    const int64_t sum = int64_t{a} + b;
    if (sum > std::numeric_limits<int32_t>::max()) fail("concat: the result is too long");
    return static_cast<int>(sum);
  }
  Type concat() const {
    if (in_.empty()) fail("concat: needs at least one operand");
    const int rank = shape(0).rank();
    Shape out = shape(0);
    for (size_t i = 0; i < in_.size(); ++i) {
      want_rank(i, rank == 2 ? 2 : 1);
      if (!shape(i).is_static()) fail("concat: a length T is not known when the model is compiled");
      if (i == 0) continue;
      const Shape& s = shape(i);
      if (rank == 1) {
        out = Shape{joined(out[0], s[0])};
      } else if (attr_.axis == 0) {
        if (s[1] != out[1]) mismatch(0, i);
        out = Shape{joined(out[0], s[0]), out[1]};
      } else {
        if (s[0] != out[0]) mismatch(0, i);
        out = Shape{out[0], joined(out[1], s[1])};
      }
    }
    return Type::real(out);
  }
  /// attr: i = start, j = length, axis.
  Type slice() const {
    want_real(0);
    const Shape& s = shape(0);
    if (s.rank() == 0 || attr_.axis >= s.rank()) fail("slice: needs a vector or matrix");
    const int extent = s[static_cast<int>(attr_.axis)];
    if (extent == kLength) fail("slice: a length T is not known when the model is compiled");
    if (attr_.i < 0 || attr_.j <= 0 || attr_.i + attr_.j > extent) {
      fail(fmt::format("slice: [{}, {}) is outside {}", attr_.i, attr_.i + attr_.j, to_string(s)));
    }
    const int length = static_cast<int>(attr_.j);
    if (s.rank() == 1) return Type::real({length});
    return Type::real(attr_.axis == 0 ? Shape{length, s[1]} : Shape{s[0], length});
  }

  Op op_;
  std::span<const Type> in_;
  const Attr& attr_;
  Where where_;
};

}  // namespace

const OpInfo& info(Op op) { return kOps[static_cast<size_t>(op)]; }

Shape broadcast(const char* op, const Shape& a, const Shape& b, Where where) {
  const Shape &big = a.rank() >= b.rank() ? a : b, &small = a.rank() >= b.rank() ? b : a;
  std::array<int, 2> dims{};
  for (int axis = 0; axis < big.rank(); ++axis) {
    const int other = axis - (big.rank() - small.rank());
    const int x = big[axis], y = other < 0 ? 1 : small[other];
    if (x != y && x != 1 && y != 1) {
      throw ModelError(where, fmt::format("{}: the shapes {} and {} do not fit together", op,
                                          to_string(a), to_string(b)));
    }
    dims[static_cast<size_t>(axis)] = x == 1 ? y : x;
  }
  if (big.rank() == 0) return {};
  return big.rank() == 1 ? Shape{dims[0]} : Shape{dims[0], dims[1]};
}

Type infer_type(Op op, std::span<const Type> in, const Attr& attr, Where where) {
  return Rule(op, in, attr, where).apply();
}

}  // namespace scry
