#include "dsl/expr.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace scry {
namespace {

std::vector<Type> types_of(const std::vector<TracedPtr>& in, Op op, Where where) {
  std::vector<Type> types;
  for (const TracedPtr& node : in) {
    if (node == nullptr) {
      throw ModelError(where, fmt::format("{}: an operand was never given a value", info(op).name));
    }
    types.push_back(node->type);
  }
  return types;
}

Expr unary(Op op, const Operand& a, Attr attr = {}) {
  return Expr(apply(op, {a.expr.node()}, std::move(attr), a.where));
}
Expr binary(Op op, const Operand& a, const Operand& b, Attr attr = {}) {
  return Expr(apply(op, {a.expr.node(), b.expr.node()}, std::move(attr), a.where));
}
Sym binary(Op op, const SymOperand& a, const SymOperand& b) {
  return Sym(apply(op, {a.sym.node(), b.sym.node()}, {}, a.where));
}
Attr keep_dimension() { return {.i = 1}; }

void want_defined(const Operand& a, const char* op) {
  if (!a.expr.is_defined()) {
    throw ModelError(a.where, fmt::format("{}: an operand was never given a value", op));
  }
}

/// m, a - m and log Σ exp(a - m), where m is the largest of a. It is a constant to the
/// differentiators: its gradients cancel. All of a = -∞ gives m = 0 and log 0 = -∞.
struct Shifted {
  Expr top, rest, log_total;
};
Shifted shift(const Operand& a, Attr keep) {
  const Where w = a.where;
  const Expr largest = unary(Op::kMaxOf, a, keep_dimension());
  const Expr top = stop_gradient(Operand(unary(Op::kFinite, Operand(largest, w)), w));
  const Expr rest = binary(Op::kSub, a, Operand(top, w));
  const Expr total = unary(Op::kSum, Operand(exp(Operand(rest, w)), w), std::move(keep));
  return {top, rest, log(Operand(total, w))};
}

Expr filled(Shape shape, double value, Where where) {
  if (!shape.is_positive()) {
    throw ModelError(where, fmt::format("a constant cannot have the shape {}", to_string(shape)));
  }
  return constant(shape, std::vector<double>(static_cast<size_t>(shape.size()), value), where);
}

}  // namespace

TracedPtr apply(Op op, std::vector<TracedPtr> in, Attr attr, Where where) {
  const Type type = infer_type(op, types_of(in, op, where), attr, where);
  return std::make_shared<Traced>(Traced{op, std::move(in), type, std::move(attr), where});
}

TracedPtr leaf(Op op, Type type, Attr attr, Where where) {
  return std::make_shared<Traced>(Traced{op, {}, type, std::move(attr), where});
}

Operand::Operand(const Expr& expr, Where where) : expr(expr), where(where) {}
Operand::Operand(double value, Where where)
    : expr(constant(Shape{}, {value}, where)), where(where) {}

Sym fixed_symbol(double value, Where where) {
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    throw ModelError(where, fmt::format("the symbol {:.0f} does not fit 32 bits", value));
  }
  const auto whole = static_cast<int64_t>(value);
  return Sym(leaf(Op::kConst, Type::integer(whole, whole + 1),
                  {.data = std::make_shared<std::vector<double>>(1, value)}, where));
}

Expr Expr::operator[](SymOperand i) const {
  want_defined(Operand(*this, i.where), "[]");
  const Op op = shape().rank() == 2 ? Op::kRow : Op::kElement;
  return Expr(apply(op, {node_, i.sym.node()}, {}, i.where));
}

Expr constant(Shape shape, std::vector<double> values, Where where) {
  if (!shape.is_positive() || shape.size() != static_cast<int64_t>(values.size())) {
    throw ModelError(where, fmt::format("constant: {} values do not fill the shape {}",
                                        values.size(), to_string(shape)));
  }
  return Expr(leaf(Op::kConst, Type::real(shape),
                   {.data = std::make_shared<std::vector<double>>(std::move(values))}, where));
}
Expr constant(std::vector<double> values, Where where) {
  const int size = static_cast<int>(values.size());
  return constant(Shape{size}, std::move(values), where);
}
Expr zeros(Shape shape, Where where) { return filled(shape, 0.0, where); }
Expr ones(Shape shape, Where where) { return filled(shape, 1.0, where); }

Expr operator+(Operand a, Operand b) { return binary(Op::kAdd, a, b); }
Expr operator-(Operand a, Operand b) { return binary(Op::kSub, a, b); }
Expr operator*(Operand a, Operand b) { return binary(Op::kMul, a, b); }
Expr operator/(Operand a, Operand b) { return binary(Op::kDiv, a, b); }
Expr operator-(Operand a) { return unary(Op::kNeg, a); }
Expr exp(Operand a) { return unary(Op::kExp, a); }
Expr log(Operand a) { return unary(Op::kLog, a); }
Expr tanh(Operand a) { return unary(Op::kTanh, a); }
Expr sigmoid(Operand a) { return unary(Op::kSigmoid, a); }
Expr relu(Operand a) { return unary(Op::kRelu, a); }
Expr softplus(Operand a) { return unary(Op::kSoftplus, a); }
Expr sqrt(Operand a) { return unary(Op::kSqrt, a); }
Expr min(Operand a, Operand b) { return binary(Op::kMin, a, b); }
Expr max(Operand a, Operand b) { return binary(Op::kMax, a, b); }
Expr clamp(Operand a, Operand low, Operand high) {
  return binary(Op::kMin, Operand(binary(Op::kMax, a, low), a.where), high);
}
Expr ratio(Operand a, Operand b) { return binary(Op::kRatio, a, b); }
Expr stop_gradient(Operand a) { return unary(Op::kStopGradient, a); }
Expr to_real(SymOperand a) { return Expr(apply(Op::kToReal, {a.sym.node()}, {}, a.where)); }
Expr select(SymOperand condition, Operand a, Operand b) {
  return Expr(apply(Op::kSelect, {condition.sym.node(), a.expr.node(), b.expr.node()}, {},
                    condition.where));
}
Expr if_greater(Operand a, Operand b, Operand then, Operand otherwise) {
  return Expr(apply(Op::kIfGreater,
                    {a.expr.node(), b.expr.node(), then.expr.node(), otherwise.expr.node()}, {},
                    a.where));
}

Expr sum(Operand a) { return unary(Op::kSum, a); }
Expr mean(Operand a) {
  want_defined(a, "mean");
  const int count = a.expr.shape().last();
  if (count == kLength) throw ModelError(a.where, "mean: use sum_rows and divide by the length T");
  return binary(Op::kMul, Operand(unary(Op::kSum, a), a.where), Operand(1.0 / count, a.where));
}
Expr max_of(Operand a) { return unary(Op::kMaxOf, a); }
Expr logsumexp(Operand a) {
  const auto [top, rest, log_total] = shift(a, {});
  const Expr m = reshape(Operand(top, a.where), log_total.shape());
  return binary(Op::kAdd, Operand(m, a.where), Operand(log_total, a.where));
}
Expr sum_rows(Operand a) { return unary(Op::kSum, Operand(transpose(a), a.where)); }
Expr max_rows(Operand a) { return unary(Op::kMaxOf, Operand(transpose(a), a.where)); }

/// (a - m) - log Σ exp(a - m): far from 0, a - log Σ exp a would lose the digits that count.
Expr log_softmax(Operand a) {
  const auto [top, rest, log_total] = shift(a, keep_dimension());
  return binary(Op::kLogDivide, Operand(rest, a.where), Operand(log_total, a.where));
}
Expr softmax(Operand a) { return unary(Op::kExp, Operand(log_softmax(a), a.where)); }
Expr normalize(Operand a) {
  return binary(Op::kRatio, a, Operand(unary(Op::kSum, a, keep_dimension()), a.where));
}

Expr matmul(Operand a, Operand b) {
  want_defined(a, "matmul"), want_defined(b, "matmul");
  if (a.expr.shape().rank() == 2 && b.expr.shape().rank() == 1) {  // A x = x Aᵀ
    if (a.expr.shape()[1] != b.expr.shape()[0]) {
      throw ModelError(a.where, fmt::format("matmul: the shapes {} and {} do not fit together",
                                            to_string(a.expr.shape()), to_string(b.expr.shape())));
    }
    return binary(Op::kMatMul, Operand(b.expr, a.where), Operand(transpose(a), a.where));
  }
  return binary(Op::kMatMul, a, b);
}
Expr dot(Operand a, Operand b) {
  want_defined(a, "dot"), want_defined(b, "dot");
  if (a.expr.shape().rank() != 1 || a.expr.shape() != b.expr.shape()) {
    throw ModelError(a.where, fmt::format("dot: needs two vectors of one size, got {} and {}",
                                          to_string(a.expr.shape()), to_string(b.expr.shape())));
  }
  return unary(Op::kSum, Operand(binary(Op::kMul, a, b), a.where));
}
Expr outer(Operand a, Operand b) {
  want_defined(a, "outer"), want_defined(b, "outer");
  return binary(Op::kMul, Operand(reshape(a, {a.expr.size(), 1}), a.where), b);
}
Expr transpose(Operand a) { return unary(Op::kTranspose, a); }
Expr reshape(Operand a, Shape shape) {
  want_defined(a, "reshape");
  if (a.expr.shape() == shape) return a.expr;
  return unary(Op::kReshape, a, {.shape = shape});
}
Expr flatten(Operand a) {
  want_defined(a, "flatten");
  if (!a.expr.shape().is_static()) {
    throw ModelError(a.where, "flatten: a length T is not known when the model is compiled");
  }
  return reshape(a, {a.expr.size()});
}
Expr concat(std::span<const Expr> parts, Where where) {
  std::vector<TracedPtr> nodes;
  for (const Expr& part : parts) {
    want_defined(Operand(part, where), "concat");
    nodes.push_back(part.shape().rank() == 0 ? reshape(Operand(part, where), {1}).node()
                                             : part.node());
  }
  return nodes.size() == 1 ? Expr(nodes[0]) : Expr(apply(Op::kConcat, std::move(nodes), {}, where));
}
Expr concat(std::initializer_list<Operand> parts, Where where) {
  std::vector<Expr> exprs;
  for (const Operand& part : parts) exprs.push_back(part.expr);
  return concat(exprs, where);
}
Expr slice(Operand a, int start, int length) {
  want_defined(a, "slice");
  return unary(Op::kSlice, a,
               {.i = start, .j = length, .axis = std::max(0, a.expr.shape().rank() - 1)});
}
Expr slice_rows(Operand a, int start, int length) {
  return unary(Op::kSlice, a, {.i = start, .j = length, .axis = 0});
}
Expr update_row(Operand matrix, SymOperand i, Operand row) {
  return Expr(
      apply(Op::kUpdateRow, {matrix.expr.node(), i.sym.node(), row.expr.node()}, {}, matrix.where));
}
Expr one_hot(SymOperand i, int size) {
  return Expr(apply(Op::kOneHot, {i.sym.node()}, {.i = size}, i.where));
}

Sym operator+(SymOperand a, SymOperand b) { return binary(Op::kAdd, a, b); }
Sym operator-(SymOperand a, SymOperand b) { return binary(Op::kSub, a, b); }
Sym operator*(SymOperand a, SymOperand b) { return binary(Op::kMul, a, b); }
Sym operator/(SymOperand a, SymOperand b) { return binary(Op::kIntDiv, a, b); }
Sym operator%(SymOperand a, SymOperand b) { return binary(Op::kMod, a, b); }
Sym operator==(SymOperand a, SymOperand b) { return binary(Op::kEqual, a, b); }
Sym operator<(SymOperand a, SymOperand b) { return binary(Op::kLess, a, b); }
Sym operator>(SymOperand a, SymOperand b) { return binary(Op::kLess, b, a); }
Sym operator!(SymOperand a) { return binary(Op::kEqual, a, SymOperand(0, a.where)); }
Sym operator!=(SymOperand a, SymOperand b) {
  return !SymOperand(binary(Op::kEqual, a, b), a.where);
}
Sym operator<=(SymOperand a, SymOperand b) { return !SymOperand(binary(Op::kLess, b, a), a.where); }
Sym operator>=(SymOperand a, SymOperand b) { return !SymOperand(binary(Op::kLess, a, b), a.where); }
Sym operator&&(SymOperand a, SymOperand b) {
  return !SymOperand(!a, a.where) * SymOperand(!SymOperand(!b, b.where), b.where);
}
Sym operator||(SymOperand a, SymOperand b) {
  return !SymOperand(binary(Op::kMul, SymOperand(!a, a.where), SymOperand(!b, b.where)), a.where);
}
Sym min(SymOperand a, SymOperand b) { return binary(Op::kMin, a, b); }
Sym max(SymOperand a, SymOperand b) { return binary(Op::kMax, a, b); }
Sym clamp(SymOperand a, SymOperand low, SymOperand high) {
  return binary(Op::kMin, SymOperand(binary(Op::kMax, a, low), a.where), high);
}
Sym select(SymOperand condition, SymOperand a, SymOperand b) {
  return Sym(
      apply(Op::kSelect, {condition.sym.node(), a.sym.node(), b.sym.node()}, {}, condition.where));
}

}  // namespace scry
