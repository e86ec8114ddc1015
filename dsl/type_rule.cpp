#include "dsl/type_rule.h"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace scry {

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

Type TypeRule::apply() const {
  const OpInfo& op = info(op_);
  if (op.arity >= 0 && in.size() != static_cast<size_t>(op.arity)) {
    fail(fmt::format("{} takes {} operands, got {}", name(), op.arity, in.size()));
  }
  const Type type = op.type(*this);
  if (type.is_int()) {
    want_32_bits(type);
  } else {
    want_countable(type.shape);
  }
  return type;
}

void TypeRule::mismatch(size_t i) const {
  fail(fmt::format("{}: {} does not fit {}", name(), to_string(shape(i)), to_string(attr.shape)));
}
void TypeRule::mismatch(size_t i, size_t j) const {
  fail(fmt::format("{}: the shapes {} and {} do not fit together", name(), to_string(shape(i)),
                   to_string(shape(j))));
}
void TypeRule::want_real(size_t i) const {
  if (in[i].is_int()) {
    fail(fmt::format("{}: operand {} is a {}, but a real tensor is needed", name(), i + 1,
                     to_string(in[i])));
  }
}
void TypeRule::want_int(size_t i) const {
  if (!in[i].is_int()) {
    fail(fmt::format("{}: operand {} is a real tensor of shape {}, but a symbol is needed", name(),
                     i + 1, to_string(shape(i))));
  }
}
void TypeRule::want_rank(size_t i, int rank) const {
  want_real(i);
  if (shape(i).rank() != rank) {
    fail(fmt::format("{}: operand {} must be a {}, got shape {}", name(), i + 1,
                     rank == 2 ? "matrix" : "vector", to_string(shape(i))));
  }
}
/// Kernels compute with 32 bits. The operands fit them, so that no range overflows its 64.
void TypeRule::want_32_bits(const Type& type) const {
  constexpr auto kMin = int64_t{std::numeric_limits<int32_t>::min()};
  constexpr auto kMax = int64_t{std::numeric_limits<int32_t>::max()};
  if (type.lo >= kMin && type.hi - 1 <= kMax) return;
  std::string operands;
  for (const Type& operand : in)
    operands += (operands.empty() ? "" : " and a ") + to_string(operand);
  fail(
      fmt::format("{} of a {} is a {}, which does not fit 32 bits; make the ranges smaller with "
                  "%, min, max or clamp",
                  name(), operands, to_string(type)));
}
void TypeRule::want_countable(const Shape& s) const {
  if (!s.is_static() || s.size() <= std::numeric_limits<int32_t>::max()) return;
  fail(fmt::format("{}: the shape {} has {} elements, which is more than 2³¹ - 1", name(),
                   to_string(s), s.size()));
}
void TypeRule::want_index(size_t i, int count) const {
  want_int(i);
  if (count == kLength) {
    if (in[i].hi > 0 && in[i].lo < kMaxLength) return;
    fail(
        fmt::format("{}: the index is a {}, but the T rows are numbered from 0 to T - 1, and T is "
                    "at most {}",
                    name(), to_string(in[i]), kMaxLength));
  }
  if (in[i].lo < 0 || in[i].hi > count) {
    fail(fmt::format("{}: the index is a {}, but there are {} rows", name(), to_string(in[i]),
                     count));
  }
}

Type TypeRule::elementwise(size_t first) const {
  Shape out;
  for (size_t i = first; i < in.size(); ++i) {
    want_real(i);
    out = i == first ? shape(i) : broadcast(name(), out, shape(i), where_);
  }
  return Type::real(out);
}
Type TypeRule::expanded() const {
  want_real(0);
  if (broadcast(name(), shape(0), attr.shape, where_) != attr.shape) mismatch(0);
  return Type::real(attr.shape);
}

}  // namespace scry
