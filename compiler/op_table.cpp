#include "compiler/op_table.h"

#include <fmt/format.h>

#include <array>

namespace scry {
namespace {

constexpr OpRow kLeaves[] = {
    {.op = Op::kInput, .form = Form::kGiven},
    {.op = Op::kParam, .form = Form::kGiven},
    {.op = Op::kConst, .form = Form::kGiven},
    {.op = Op::kScan, .form = Form::kGiven},
};

class Table {
 public:
  Table() {
    for (const std::span<const OpRow> part : {std::span<const OpRow>(kLeaves), elementwise_rows(),
                                              layout_rows(), reduction_rows(), axes_rows()}) {
      for (const OpRow& row : part) rows_[static_cast<size_t>(row.op)] = &row;
    }
    for (size_t op = 0; op < rows_.size(); ++op) {
      if (rows_[op] == nullptr)
        throw Error(fmt::format("the operation {} has no row", info(static_cast<Op>(op)).name));
    }
  }
  const OpRow& operator[](Op op) const { return *rows_[static_cast<size_t>(op)]; }

 private:
  std::array<const OpRow*, kNumOps> rows_{};
};

}  // namespace

const OpRow& row(Op op) {
  static const Table table;
  return table[op];
}

Axes work_axes(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  Axes axes = node.axes;
  if (!sums_axes(node.op)) return axes;
  for (NodeId in : node.in) axes = axes | graph[in].axes;
  return axes;
}

double Sizes::elements(const Shape& shape) const {
  double count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) count *= dim(shape[axis]);
  return count;
}

double flops(const Graph& graph, NodeId id, int length) {
  const Sizes sizes{graph, graph[id], length};
  const OpRow& op = row(graph[id].op);
  if (op.flops != nullptr) return op.flops(sizes);
  return graph[id].type.is_int() ? 0 : op.cost * sizes.result();
}

}  // namespace scry
