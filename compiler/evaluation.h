// What an operation's row sees when reference.cpp evaluates it.
#pragma once
#include <algorithm>

#include "dsl/graph.h"

namespace scry {

/// A node and its operands at one index of the axes, in plain double. Integers are doubles, too.
class Evaluation {
 public:
  Evaluation(const Graph& graph, const Node& y) : node(y), graph_(graph) {}
  virtual ~Evaluation() = default;

  const Node& node;
  const Shape& shape(size_t operand) const { return graph_[node.in[operand]].type.shape; }
  int rows(size_t operand) const { return dim(shape(operand).rows()); }
  int columns(size_t operand) const { return dim(shape(operand).last()); }

  double at(size_t operand, int i, int j) const {
    return block(operand, tag())[i * allocated(shape(operand).last()) + j];
  }
  /// Element (i, j), or the one that is broadcast to it.
  double broadcast(size_t operand, int i, int j) const {
    return at(operand, shape(operand).rows() == 1 ? 0 : i, shape(operand).last() == 1 ? 0 : j);
  }
  /// An integer operand as an index among `count`; clamped to [0, T) if they are T.
  int index(size_t operand, int count) const {
    const int i = static_cast<int>(at(operand, 0, 0));
    return count == kLength ? std::max(0, std::min(i, dim(kLength) - 1)) : i;
  }

  virtual int tag() const = 0;
  /// The operand's elements in order, at `tag` instead of the tag at hand.
  virtual const double* block(size_t operand, int tag) const = 0;
  /// A dimension, with T of the sequence at hand; as memory is laid out.
  virtual int dim(int size) const = 0;
  virtual int allocated(int size) const = 0;

 private:
  const Graph& graph_;
};

}  // namespace scry
