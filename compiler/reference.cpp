#include "compiler/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/evaluation.h"
#include "compiler/op_table.h"

namespace scry {
namespace {

/// One index of the axes.
struct At {
  int row = 0, position = 0, sequence = 0, tag = 0;
};

class Evaluator {
 public:
  Evaluator(const Graph& graph, const Extent& extent) : graph_(graph), extent_(extent) {}

  Values run(const Values& inputs, const Values& initial) {
    for (NodeId id = 0; id < graph_.size(); ++id) compute(id, inputs);
    Values results;
    for (const GraphOutput& output : graph_.outputs) {
      const Shape& shape = graph_[output.node].type.shape;
      const size_t size = static_cast<size_t>(extent_.count(output.axes) * extent_.stride(shape));
      std::vector<double>& result = results[output.name];
      const auto start = initial.find(output.name);
      result = output.accumulate && start != initial.end() ? start->second
                                                           : std::vector<double>(size, 0.0);
      for_each_index(output.axes, [&](const At& at) {
        const double* value = element(output.node, at);
        double* to = &result[offset(output.axes, shape, at)];
        for (int64_t k = 0; k < extent_.stride(shape); ++k)
          to[k] = output.accumulate ? to[k] + value[k] : value[k];
      });
    }
    return results;
  }

 private:
  template <class F>
  void for_each_index(Axes axes, F body) const {
    const int outer = extent_.count(axes.without_tag());
    for (int i = 0; i < outer; ++i) {
      At at{i, i, i, 0};
      if (axes.has_prefix()) at.position = extent_.position_of_row[static_cast<size_t>(i)];
      if (axes.has_prefix() || axes.has_position())
        at.sequence = extent_.sequence_of_position[static_cast<size_t>(at.position)];
      for (at.tag = 0; at.tag < (axes.has_tag() ? extent_.num_tags : 1); ++at.tag) body(at);
    }
  }
  size_t offset(Axes axes, const Shape& shape, const At& at) const {
    int64_t index = axes.has_prefix()     ? at.row
                    : axes.has_position() ? at.position
                    : axes.has_sequence() ? at.sequence
                                          : 0;
    if (axes.has_tag()) index = index * extent_.num_tags + at.tag;
    return static_cast<size_t>(index * extent_.stride(shape));
  }
  const double* element(NodeId id, const At& at) const {
    return &values_[static_cast<size_t>(id)][offset(graph_[id].axes, graph_[id].type.shape, at)];
  }
  int dim(int size, const At& at) const {
    return size == kLength ? extent_.lengths[static_cast<size_t>(at.sequence)] : size;
  }
  int allocated(int size) const { return size == kLength ? extent_.max_length() : size; }

  /// What the node's row sees.
  class NodeEvaluation final : public Evaluation {
   public:
    NodeEvaluation(const Evaluator& evaluator, const Node& y, const At& at)
        : Evaluation(evaluator.graph_, y), evaluator_(evaluator), at_(at) {}
    int tag() const override { return at_.tag; }
    const double* block(size_t operand, int tag) const override {
      At at = at_;
      at.tag = tag;
      return evaluator_.element(node.in[operand], at);
    }
    int dim(int size) const override { return evaluator_.dim(size, at_); }
    int allocated(int size) const override { return evaluator_.allocated(size); }

   private:
    const Evaluator& evaluator_;
    At at_;
  };

  void compute(NodeId id, const Values& inputs) {
    const Node& node = graph_[id];
    values_.emplace_back();
    const size_t size =
        static_cast<size_t>(extent_.count(node.axes) * extent_.stride(node.type.shape));
    if (node.op == Op::kInput || node.op == Op::kParam) {
      const auto found = inputs.find(node.attr.name);
      if (found == inputs.end() || found->second.size() != size) {
        throw Error(fmt::format("evaluate: the input '{}' needs {} values", node.attr.name, size));
      }
      values_.back() = found->second;
      return;
    }
    if (node.op == Op::kConst) {
      values_.back() = *node.attr.data;
      return;
    }
    values_.back().assign(size, 0.0);
    for_each_index(work_axes(graph_, id), [&](const At& at) { apply(id, at); });
  }

  /// Elements at one index: computed, or of a sum over axes added to.
  void apply(NodeId id, const At& at) {
    const Node& node = graph_[id];
    const Shape& shape = node.type.shape;
    const NodeEvaluation x(*this, node, at);
    const auto value = row(node.op).value;
    const bool sums = sums_axes(node.op);
    double* y = &values_[static_cast<size_t>(id)][offset(node.axes, shape, at)];
    const int rows = dim(shape.rows(), at), columns = dim(shape.last(), at);
    for (int i = 0; i < rows; ++i, y += allocated(shape.last())) {
      for (int j = 0; j < columns; ++j) y[j] = sums ? y[j] + value(x, i, j) : value(x, i, j);
    }
  }

  const Graph& graph_;
  const Extent& extent_;
  std::vector<std::vector<double>> values_;
};

}  // namespace

int Extent::max_length() const {
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}
int Extent::count(Axes axes) const {
  const int outer = axes.has_prefix()     ? num_rows
                    : axes.has_position() ? num_positions
                    : axes.has_sequence() ? num_sequences
                                          : 1;
  return outer * (axes.has_tag() ? num_tags : 1);
}
int64_t Extent::stride(const Shape& shape) const {
  int64_t size = 1;
  for (int axis = 0; axis < shape.rank(); ++axis)
    size *= shape[axis] == kLength ? max_length() : shape[axis];
  return size;
}

Values evaluate(const Graph& graph, const Extent& extent, const Values& inputs,
                const Values& initial) {
  return Evaluator(graph, extent).run(inputs, initial);
}

}  // namespace scry
