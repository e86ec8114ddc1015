// What a model file computes with: Expr (a real tensor) and Sym (an integer such as a tag). Both
// are immutable handles to nodes of an expression; trace() flattens them into a Graph.
#pragma once
#include <concepts>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dsl/op.h"

namespace scry {

struct Traced;
using TracedPtr = std::shared_ptr<const Traced>;

/// One operation of a model file, with the line that wrote it.
struct Traced {
  Op op;
  std::vector<TracedPtr> in;
  Type type;
  Attr attr;
  Where where;
};

/// Applies `op`; throws ModelError at `where` if the operands' types do not allow it.
TracedPtr apply(Op op, std::vector<TracedPtr> in, Attr attr, Where where);
TracedPtr leaf(Op op, Type type, Attr attr, Where where);

class Expr;
class Parameter;
class Sym;
struct SymOperand;

/// A fixed symbol. Throws ModelError if it does not fit 32 bits.
Sym fixed_symbol(double value, Where where);

/// An integer with a range known when the model is compiled: a symbol, tag or position.
class Sym {
 public:
  explicit Sym(TracedPtr node) : node_(std::move(node)) {}
  const TracedPtr& node() const { return node_; }

 private:
  TracedPtr node_;
};

/// A real scalar, vector or matrix.
class Expr {
 public:
  Expr() = default;
  explicit Expr(TracedPtr node) : node_(std::move(node)) {}

  const TracedPtr& node() const { return node_; }
  bool is_defined() const { return node_ != nullptr; }
  const Shape& shape() const { return node_->type.shape; }
  int size() const { return static_cast<int>(shape().size()); }

  /// Element i of a vector, or row i of a matrix. Of T elements or rows, i is clamped to [0, T).
  Expr operator[](SymOperand i) const;

 private:
  TracedPtr node_;
};

/// An argument of an operation: an expression or a number, with the caller's line.
struct Operand {
  Operand(const Expr& expr, Where where = Where::here());  // NOLINT: conversion is the purpose
  Operand(const Parameter& param, Where where = Where::here());  // NOLINT
  Operand(double value, Where where = Where::here());            // NOLINT
  Expr expr;
  Where where;
};
struct SymOperand {
  SymOperand(const Sym& sym, Where where = Where::here()) : sym(sym), where(where) {}  // NOLINT
  template <std::integral Integer>
  SymOperand(Integer value, Where where = Where::here())  // NOLINT
      : sym(fixed_symbol(static_cast<double>(value), where)), where(where) {}
  Sym sym;
  Where where;
};

/// A fixed vector or matrix (row-major).
Expr constant(std::vector<double> values, Where where = Where::here());
Expr constant(Shape shape, std::vector<double> values, Where where = Where::here());
Expr zeros(Shape shape, Where where = Where::here());
Expr ones(Shape shape, Where where = Where::here());

// Elementwise, with NumPy's broadcasting.
Expr operator+(Operand a, Operand b);
Expr operator-(Operand a, Operand b);
Expr operator*(Operand a, Operand b);
Expr operator/(Operand a, Operand b);
Expr operator-(Operand a);
Expr exp(Operand a);
/// log a; -∞ at 0, where its gradient counts as 0.
Expr log(Operand a);
Expr tanh(Operand a);
Expr sigmoid(Operand a);
Expr relu(Operand a);
Expr softplus(Operand a);
Expr sqrt(Operand a);
Expr min(Operand a, Operand b);
Expr max(Operand a, Operand b);
/// The nearest number to a in [low, high].
Expr clamp(Operand a, Operand low, Operand high);
/// condition ? a : b, for a comparison of symbols.
Expr select(SymOperand condition, Operand a, Operand b);
/// a > b ? then : otherwise, elementwise.
Expr if_greater(Operand a, Operand b, Operand then, Operand otherwise);
/// a / b, with 0 where b = 0.
Expr ratio(Operand a, Operand b);
Expr stop_gradient(Operand a);
Expr to_real(SymOperand a);

// Reductions: a vector to a scalar, a matrix to the vector of its rows' results.
Expr sum(Operand a);
Expr mean(Operand a);
Expr max_of(Operand a);
Expr logsumexp(Operand a);
/// Sums, means, maxima over the rows of a matrix (also of a [T, d] encoding): a vector.
Expr sum_rows(Operand a);
Expr max_rows(Operand a);

// Along the last dimension.
Expr softmax(Operand a);
Expr log_softmax(Operand a);
/// ⟦a⟧ = a / Σa (sec:oohmm), and 0 if the sum is 0.
Expr normalize(Operand a);

/// Matrix times matrix, vector times matrix, matrix times vector.
Expr matmul(Operand a, Operand b);
Expr dot(Operand a, Operand b);
Expr outer(Operand a, Operand b);
Expr transpose(Operand a);
Expr reshape(Operand a, Shape shape);
/// All the elements as one vector, row by row.
Expr flatten(Operand a);
/// Vectors end to end; matrices one above the other.
Expr concat(std::initializer_list<Operand> parts, Where where = Where::here());
Expr concat(std::span<const Expr> parts, Where where = Where::here());
/// Elements (of a vector) or columns (of a matrix) start … start + length - 1.
Expr slice(Operand a, int start, int length);
Expr slice_rows(Operand a, int start, int length);
/// `matrix` with row i replaced by `row`. Of T rows, i is clamped to [0, T).
Expr update_row(Operand matrix, SymOperand i, Operand row);
Expr one_hot(SymOperand i, int size);

// Arithmetic and comparisons of symbols; a comparison is 0 or 1. Ranges are known when the model is
// traced; a result that may not fit 32 bits, or a division that may be by 0 or of a negative
// number, is refused.
Sym operator+(SymOperand a, SymOperand b);
Sym operator-(SymOperand a, SymOperand b);
Sym operator*(SymOperand a, SymOperand b);
Sym operator/(SymOperand a, SymOperand b);
Sym operator%(SymOperand a, SymOperand b);
Sym operator==(SymOperand a, SymOperand b);
Sym operator!=(SymOperand a, SymOperand b);
Sym operator<(SymOperand a, SymOperand b);
Sym operator>(SymOperand a, SymOperand b);
Sym operator<=(SymOperand a, SymOperand b);
Sym operator>=(SymOperand a, SymOperand b);
Sym operator&&(SymOperand a, SymOperand b);
Sym operator||(SymOperand a, SymOperand b);
Sym operator!(SymOperand a);
Sym min(SymOperand a, SymOperand b);
Sym max(SymOperand a, SymOperand b);
/// The nearest symbol to a in [low, high], both ends included.
Sym clamp(SymOperand a, SymOperand low, SymOperand high);
Sym select(SymOperand condition, SymOperand a, SymOperand b);
/// Of two fixed integers: a symbol, not a number.
template <std::integral A, std::integral B>
Sym select(SymOperand condition, A a, B b) {
  return select(condition, SymOperand(a, condition.where), SymOperand(b, condition.where));
}

}  // namespace scry
