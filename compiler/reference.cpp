#include "compiler/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

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
  /// The distance between rows of a matrix.
  int pitch(const Shape& shape) const {
    const int last = shape.last();
    return last == kLength ? extent_.max_length() : last;
  }

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
    switch (node.op) {  // sums over axes: indexed by their operands
      case Op::kSumAxes:
      case Op::kScatter:
      case Op::kMatMulSum: {
        Axes over = graph_[node.in[0]].axes;
        for (NodeId in : node.in) over = over | graph_[in].axes;
        for_each_index(over, [&](const At& at) { accumulate(node, at, out(id, at)); });
        return;
      }
      default:
        for_each_index(node.axes, [&](const At& at) { apply(node, at, out(id, at)); });
    }
  }
  double* out(NodeId id, const At& at) {
    return &values_[static_cast<size_t>(id)][offset(graph_[id].axes, graph_[id].type.shape, at)];
  }

  /// The node as an index among `count`; clamped if they are T.
  int index(NodeId id, int count, const At& at) const {
    const int i = static_cast<int>(*element(id, at));
    return count == kLength ? std::max(0, std::min(i, dim(kLength, at) - 1)) : i;
  }

  void accumulate(const Node& node, const At& at, double* y) const {
    const double* a = element(node.in[0], at);
    const Shape& shape = graph_[node.in[0]].type.shape;
    if (node.op == Op::kSumAxes) {
      for (int64_t k = 0; k < extent_.stride(shape); ++k) y[k] += a[k];
    } else if (node.op == Op::kScatter) {
      const int64_t row = index(node.in[1], node.type.shape[0], at);
      const int64_t width = extent_.stride(shape);
      for (int64_t k = 0; k < width; ++k) y[row * width + k] += a[k];
    } else {
      const double* b = element(node.in[1], at);
      const Shape& right = graph_[node.in[1]].type.shape;
      const int n = dim(right.last(), at), m = dim(shape.last(), at);
      for (int r = 0; r < dim(shape.rows(), at); ++r) {
        for (int i = 0; i < m; ++i) {
          for (int j = 0; j < n; ++j) {
            y[i * pitch(node.type.shape) + j] += a[r * pitch(shape) + i] * b[r * pitch(right) + j];
          }
        }
      }
    }
  }

  void apply(const Node& node, const At& at, double* y) const {
    const Shape& shape = node.type.shape;
    const int rows = dim(shape.rows(), at), columns = dim(shape.last(), at);
    const auto in = [&](size_t i) { return element(node.in[i], at); };
    const auto in_shape = [&](size_t i) -> const Shape& { return graph_[node.in[i]].type.shape; };
    const auto store = [&](auto value) {
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) y[i * pitch(shape) + j] = value(i, j);
      }
    };
    const auto read = [&](size_t operand, int i, int j) {
      return in(operand)[i * pitch(in_shape(operand)) + j];
    };
    switch (node.op) {
      case Op::kSum:
      case Op::kMaxOf: {
        const bool is_sum = node.op == Op::kSum;
        const int m = dim(in_shape(0).rows(), at), n = dim(in_shape(0).last(), at);
        for (int i = 0; i < m; ++i) {
          double total = is_sum ? 0 : -std::numeric_limits<double>::infinity();
          for (int j = 0; j < n; ++j)
            total = is_sum ? total + read(0, i, j) : std::max(total, read(0, i, j));
          y[i] = total;
        }
        return;
      }
      case Op::kMatMul: {
        const bool ta = node.attr.i != 0, tb = node.attr.j != 0;
        const int k = dim(ta ? in_shape(0).rows() : in_shape(0).last(), at);
        store([&](int i, int j) {
          double total = 0;
          for (int l = 0; l < k; ++l)
            total += (ta ? read(0, l, i) : read(0, i, l)) * (tb ? read(1, j, l) : read(1, l, j));
          return total;
        });
        return;
      }
      case Op::kTranspose:
        return store([&](int i, int j) { return read(0, j, i); });
      case Op::kReshape:
      case Op::kCandidates:
        if (node.op == Op::kReshape) {
          std::copy_n(in(0), extent_.stride(shape), y);
        } else {
          for (At each = at; each.tag < extent_.num_tags; ++each.tag) {
            std::copy_n(element(node.in[0], each), columns, y + each.tag * columns);
          }
        }
        return;
      case Op::kAtTag:
        return store([&](int, int j) { return read(0, at.tag, j); });
      case Op::kConcat: {
        int from = 0;
        for (size_t p = 0; p < node.in.size(); ++p) {
          const bool down = shape.rank() == 2 && node.attr.axis == 0;
          const int m = in_shape(p).rows(), n = in_shape(p).last();
          for (int i = 0; i < m; ++i) {
            for (int j = 0; j < n; ++j)
              y[(i + (down ? from : 0)) * pitch(shape) + j + (down ? 0 : from)] = read(p, i, j);
          }
          from += down ? m : n;
        }
        return;
      }
      case Op::kSlice: {
        const int start = static_cast<int>(node.attr.i);
        const bool down = shape.rank() == 2 && node.attr.axis == 0;
        return store(
            [&](int i, int j) { return down ? read(0, i + start, j) : read(0, i, j + start); });
      }
      case Op::kRow: {
        const int row = index(node.in[1], in_shape(0)[0], at);
        return store([&](int, int j) { return read(0, row, j); });
      }
      case Op::kElement:
        *y = in(0)[index(node.in[1], in_shape(0)[0], at)];
        return;
      case Op::kUpdateRow: {
        const int row = index(node.in[1], in_shape(0)[0], at);
        return store([&](int i, int j) { return i == row ? read(2, 0, j) : read(0, i, j); });
      }
      case Op::kOneHot:
        return store([&](int, int j) { return j == static_cast<int>(*in(0)) ? 1.0 : 0.0; });
      default:
        return store([&](int i, int j) {
          double operands[4];
          for (size_t p = 0; p < node.in.size(); ++p) {
            const Shape& s = in_shape(p);
            operands[p] = read(p, s.rows() == 1 ? 0 : i, s.last() == 1 ? 0 : j);
          }
          return row(node.op).evaluate(operands);
        });
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
