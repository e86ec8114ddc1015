// Matrix products of a graph as calls of cblas_?gemm. (Of LLVM only names.)
#pragma once
#include <functional>

#include "compiler/loop_emitter.h"

namespace scry {

class ProductEmitter {
 public:
  using Value = llvm::Value*;
  /// `base_pointer` gives the memory of a node that has some.
  ProductEmitter(LoopEmitter& function, const Graph& graph,
                 std::function<Value(NodeId)> base_pointer)
      : f_(function), graph_(graph), base_pointer_(std::move(base_pointer)) {}

  /// Emits the kMatMul or kMatMulSum node `id`.
  void emit(NodeId id);

 private:
  /// An operand at the current index of its axes, over which its blocks are contiguous.
  struct Matrix {
    NodeId base;
    Shape shape;
    Axes axes;
  };
  Matrix matrix(NodeId id) const;
  Value pointer(const Matrix& m);
  void emit_sum(NodeId id);
  void call_gemm(bool ta, bool tb, Value m, Value n, Value k, const Matrix& a, const Matrix& b,
                 double beta, const Matrix& c);

  LoopEmitter& f_;
  const Graph& graph_;
  std::function<Value(NodeId)> base_pointer_;
};

}  // namespace scry
