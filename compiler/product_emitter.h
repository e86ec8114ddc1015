// What the row of a product sees when emit.cpp emits it: calls of cblas_?gemm. (Of LLVM only
// names.)
#pragma once
#include <functional>

#include "compiler/loop_emitter.h"

namespace scry {

class ProductEmitter {
 public:
  using Value = llvm::Value*;
  /// Of the node `id`; `base_pointer` gives the memory of a node that has some.
  ProductEmitter(LoopEmitter& function, const Graph& graph, NodeId id,
                 std::function<Value(NodeId)> base_pointer);

  /// A node as blocks in memory, one for each index of its axes, end to end.
  struct Matrix {
    NodeId base;
    Shape shape;
    Axes axes;
  };
  const Node& node;
  const Matrix a, b, c;  ///< the operands and the result

  /// C = AB + beta C, with A or B transposed, at every index of `over`.
  struct Product {
    bool ta = false, tb = false;
    double beta = 0;
    Axes over = {};
    /// What blocks that are one matrix together have more of: rows of A and C, or the dimension
    /// that is summed over.
    enum class Stacked { kRows, kInner } stacked = Stacked::kRows;
    bool at_once = false;  ///< one call for the stacked blocks, instead of one for each index
  };
  void multiply(const Product& product);

 private:
  Value pointer(const Matrix& matrix);
  void call_gemm(const Product& product, Value m, Value n, Value k);

  LoopEmitter& f_;
  std::function<Value(NodeId)> base_pointer_;
};

}  // namespace scry
