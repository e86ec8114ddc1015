// Scalar arithmetic in LLVM IR, as the rows of the op table use it. (Of LLVM only names.)
#pragma once

namespace llvm {
class IRBuilderBase;
class Module;
class Type;
class Value;
}  // namespace llvm

namespace scry {

/// Emits at the builder's insertion point. Reals are of one type, float or double; exp and log are
/// LLVM intrinsics until expand_math() replaces them, after differentiation.
class MathEmitter {
 public:
  using Value = llvm::Value*;
  MathEmitter(llvm::IRBuilderBase& builder, llvm::Type* real) : b_(builder), real_(real) {}

  Value number(double value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);
  Value neg(Value a);
  Value exp(Value a);
  /// log a; -∞ at 0. Its derivative is taken only where a > 0.
  Value log(Value a);
  Value sqrt(Value a);
  Value sigmoid(Value a);
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  /// a > b ? then : otherwise.
  Value if_greater(Value a, Value b, Value then, Value otherwise);
  /// a = b ? then : otherwise.
  Value if_equal(Value a, Value b, Value then, Value otherwise);
  /// condition ≠ 0 ? then : otherwise, for an integer condition.
  Value select(Value condition, Value then, Value otherwise);
  Value abs(Value a);
  // For reductions: reassociation lets their loops vectorise; the order depends on the size alone.
  Value add_in_any_order(Value total, Value a);
  Value max_in_any_order(Value largest, Value a);
  Value to_real(Value integer);
  // Integers (32 bits).
  Value int_div(Value a, Value b);
  Value mod(Value a, Value b);
  Value equal(Value a, Value b);
  Value less(Value a, Value b);

 private:
  bool is_int(Value a) const;
  llvm::IRBuilderBase& b_;
  llvm::Type* real_;
};

/// Replaces llvm.exp and llvm.log by inlined polynomials, so that loops over them vectorise.
/// Accurate to about 2 ulp; exp(-∞) = 0, log(0) = -∞.
void expand_math(llvm::Module& module);

}  // namespace scry
