// What an operation's row sees when emit.cpp emits its machine code. (Of LLVM only names.)
#pragma once
#include "compiler/loop_emitter.h"
#include "compiler/math_emitter.h"

namespace scry {

/// A node and its operands at the current index of the axes, which `f` has.
class Emission {
 public:
  using Value = llvm::Value*;
  Emission(const Graph& graph, const Node& y, LoopEmitter& function, MathEmitter& math)
      : node(y), f(function), m(math), graph_(graph) {}
  virtual ~Emission() = default;

  const Node& node;
  LoopEmitter& f;
  MathEmitter& m;
  const Shape& shape(size_t operand) const { return graph_[node.in[operand]].type.shape; }

  /// Element (i, j) of an operand, or the one that is broadcast to it.
  virtual Value value(size_t operand, Value i, Value j) = 0;
  /// Element k of an operand's elements in order.
  virtual Value flat(size_t operand, Value k) = 0;
  /// An integer operand as an index among `count`: clamped to [0, T) if they are T and it is not
  /// known to be there. Indices among other counts were found to be in range by their types.
  virtual Value index(size_t operand, int count) = 0;

  // For blocks.
  virtual void store(Value i, Value j, Value element) = 0;
  virtual void add(Value i, Value j, Value amount) = 0;
  /// Folds the operand's last dimension: total = combine(total, element), from `start`.
  using Combine = Value (MathEmitter::*)(Value total, Value element);
  virtual void reduce(double start, Combine combine) = 0;

 private:
  const Graph& graph_;
};

}  // namespace scry
