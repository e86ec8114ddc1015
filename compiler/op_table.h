// One row per operation: reference value, machine code, adjoint, cost.
#pragma once
#include "dsl/graph.h"

namespace llvm {
class Value;
}

namespace scry {

class MathEmitter;     // emits scalar arithmetic; compiler/math_emitter.h
class AdjointBuilder;  // adds gradients to a graph; compiler/adjoint.h

struct OpRow {
  Op op;
  /// Elementwise operations: the value from the operands' values.
  double (*evaluate)(const double* operand) = nullptr;
  llvm::Value* (*emit)(MathEmitter& emitter, llvm::Value* const* operand) = nullptr;
  /// Adds the operands' gradients, given the node's. Null: no gradient flows.
  void (*adjoint)(AdjointBuilder& builder) = nullptr;
  /// Floating-point operations per element of the result.
  double flops = 0;
};

const OpRow& row(Op op);

/// The FLOPs of one evaluation of the node, at one index of its axes. T counts as `length`.
double flops(const Graph& graph, NodeId id, int length = 1);

}  // namespace scry
