// What the type rules of op.cpp see: an operation's operands and attributes, with the refusals that
// rules share.
#pragma once
#include <span>
#include <string>

#include "dsl/op.h"

namespace scry {

class TypeRule {
 public:
  TypeRule(Op op, std::span<const Type> operands, const Attr& attributes, Where where)
      : in(operands), attr(attributes), op_(op), where_(where) {}

  const std::span<const Type> in;
  const Attr& attr;
  const char* name() const { return info(op_).name; }
  const Shape& shape(size_t i) const { return in[i].shape; }

  /// The type by the operation's rule, which is one that kernels can compute with.
  Type apply() const;

  // Refusals, at the user's line.
  [[noreturn]] void fail(const std::string& message) const { throw ModelError(where_, message); }
  /// Operand i does not fit the attribute `shape`, or operand j.
  [[noreturn]] void mismatch(size_t i) const;
  [[noreturn]] void mismatch(size_t i, size_t j) const;
  void want_real(size_t i) const;
  void want_int(size_t i) const;
  void want_rank(size_t i, int rank) const;
  /// An index into a known number of rows is in range for certain, or the model is refused: kernels
  /// do not check again. Into T rows it may be anything that is not wrong for every T: it is
  /// clamped.
  void want_index(size_t i, int count) const;

  /// Real operands, from operand `first` on, broadcast to one another.
  Type elementwise(size_t first = 0) const;
  /// The operand, broadcast to the attribute `shape`.
  Type expanded() const;

 private:
  void want_32_bits(const Type& type) const;
  void want_countable(const Shape& s) const;

  Op op_;
  Where where_;
};

}  // namespace scry
