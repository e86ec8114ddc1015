// One row per operation: reference value, machine code, adjoint, cost, and how it is scheduled.
#pragma once
#include <span>

#include "dsl/graph.h"

namespace llvm {
class Value;
}

namespace scry {

class Evaluation;      // a node and its operands, in plain double; compiler/evaluation.h
class Emission;        // the same in machine code; compiler/emission.h
class ProductEmitter;  // calls of gemm; compiler/product_emitter.h
class AdjointBuilder;  // adds gradients to a graph; compiler/adjoint.h

/// How a value is computed.
enum class Form : uint8_t {
  kGiven,    ///< a leaf
  kElement,  ///< each element on its own: inline where it is used, or in a loop with others
  kBlock,    ///< its elements together, by loops of its own; always in memory
  kProduct,  ///< by a call outside of all loops; always in memory, and so are its operands
};

/// What of its operands an element is computed from.
enum class Reach : uint8_t {
  kElement,  ///< the same element, or the one that is broadcast to it
  kIndex,    ///< other elements at the same index of the axes
  kTags,     ///< other tags too; the operands are then in memory
};

/// The numbers of elements of a node and its operands, with T as a number.
struct Sizes {
  const Graph& graph;
  const Node& node;
  int length;
  double dim(int size) const { return size == kLength ? length : size; }
  double elements(const Shape& shape) const;
  const Shape& shape(size_t operand) const { return graph[node.in[operand]].type.shape; }
  double result() const { return elements(node.type.shape); }
  double operand(size_t i) const { return elements(shape(i)); }
};

struct OpRow {
  Op op;
  Form form = Form::kElement;
  Reach reach = Reach::kIndex;
  /// Computing one element again, in additions. FLOPs too, unless `flops` says otherwise.
  double cost = 0;
  /// Enzyme's loops go down the columns of the result: along the operand's rows, whose shadow is
  /// then added to in order.
  bool by_columns = false;

  /// Element (i, j) in plain double; of a sum over axes, what the index at hand adds to it.
  double (*value)(const Evaluation& x, int i, int j) = nullptr;
  /// The machine code, by form: of element (i, j), of the block at hand, of the whole product.
  llvm::Value* (*element)(Emission& e, llvm::Value* i, llvm::Value* j) = nullptr;
  void (*block)(Emission& e) = nullptr;
  void (*product)(ProductEmitter& p) = nullptr;
  /// Adds the operands' gradients, given the node's. Null: no gradient flows.
  void (*adjoint)(AdjointBuilder& builder) = nullptr;
  /// At one index of the axes. Null: `cost` per element of a real result.
  double (*flops)(const Sizes& sizes) = nullptr;
  /// The result is its operand's memory in another shape. Null: never.
  bool (*is_view)(const Graph& graph, const Node& node) = nullptr;
};

const OpRow& row(Op op);

inline bool is_product(Op op) { return row(op).form == Form::kProduct; }

/// The axes that a node is worked over: its own, and of a sum over axes those that it sums.
Axes work_axes(const Graph& graph, NodeId id);

/// The FLOPs of one evaluation of the node, at one index of its axes. T counts as `length`.
double flops(const Graph& graph, NodeId id, int length = 1);

// The parts of the table, by class (op_table_*.cpp).
std::span<const OpRow> elementwise_rows();
std::span<const OpRow> layout_rows();     ///< layout and indexing
std::span<const OpRow> reduction_rows();  ///< reductions and products
std::span<const OpRow> axes_rows();

}  // namespace scry
