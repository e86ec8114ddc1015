#include "compiler/op_table.h"

#include <array>
#include <cmath>
#include <limits>

#include "compiler/adjoint.h"
#include "compiler/math_emitter.h"

namespace scry {
namespace {

using A = AdjointBuilder;
using M = MathEmitter;
using V = llvm::Value*;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double sigmoid(double a) { return 1 / (1 + std::exp(-a)); }

/// x > 0 ? d : 0, for the adjoints that would be 0/0 where x = 0.
NodeId where_positive(A& b, NodeId x, NodeId d) {
  return b.make(Op::kIfGreater, {x, b.number(0), d, b.number(0)});
}

// -- Elementwise: the comment is the derivative. -------------------------------------------------

constexpr OpRow kAdd{Op::kAdd, [](const double* x) { return x[0] + x[1]; },
                     [](M& m, const V* x) { return m.add(x[0], x[1]); },
                     // da = dy, db = dy
                     [](A& b) { b.add(0, b.dy()), b.add(1, b.dy()); }, 1};
constexpr OpRow kSub{Op::kSub, [](const double* x) { return x[0] - x[1]; },
                     [](M& m, const V* x) { return m.sub(x[0], x[1]); },
                     // da = dy, db = -dy
                     [](A& b) { b.add(0, b.dy()), b.add(1, b.make(Op::kNeg, {b.dy()})); }, 1};
constexpr OpRow kMul{Op::kMul, [](const double* x) { return x[0] * x[1]; },
                     [](M& m, const V* x) { return m.mul(x[0], x[1]); },
                     // da = b dy, db = a dy
                     [](A& b) {
                       if (b.needs(0)) b.add(0, b.make(Op::kMul, {b.dy(), b.in(1)}));
                       if (b.needs(1)) b.add(1, b.make(Op::kMul, {b.dy(), b.in(0)}));
                     },
                     1};
constexpr OpRow kDiv{Op::kDiv, [](const double* x) { return x[0] / x[1]; },
                     [](M& m, const V* x) { return m.div(x[0], x[1]); },
                     // da = dy / b, db = -y dy / b
                     [](A& b) {
                       const NodeId da = b.make(Op::kDiv, {b.dy(), b.in(1)});
                       b.add(0, da);
                       if (b.needs(1)) b.add(1, b.make(Op::kNeg, {b.make(Op::kMul, {da, b.y()})}));
                     },
                     4};
constexpr OpRow kNeg{Op::kNeg, [](const double* x) { return -x[0]; },
                     [](M& m, const V* x) { return m.neg(x[0]); },
                     // da = -dy
                     [](A& b) { b.add(0, b.make(Op::kNeg, {b.dy()})); }, 1};
constexpr OpRow kExp{Op::kExp, [](const double* x) { return std::exp(x[0]); },
                     [](M& m, const V* x) { return m.exp(x[0]); },
                     // da = y dy
                     [](A& b) {
                       b.add(0, b.make(Op::kMul, {b.dy(), b.y()}));
                     },
                     20};
constexpr OpRow kLog{Op::kLog, [](const double* x) { return std::log(x[0]); },
                     [](M& m, const V* x) { return m.log(x[0]); },
                     // da = dy / a, and 0 at a = 0
                     [](A& b) {
                       b.add(0, where_positive(b, b.in(0), b.make(Op::kDiv, {b.dy(), b.in(0)})));
                     },
                     20};
constexpr OpRow kTanh{
    Op::kTanh, [](const double* x) { return std::tanh(x[0]); },
    // 2σ(2a) - 1: one exp, and cheaper to differentiate than tanh
    [](M& m, const V* x) {
      return m.sub(m.mul(m.number(2), m.sigmoid(m.add(x[0], x[0]))), m.number(1));
    },
    // da = (1 - y²) dy
    [](A& b) {
      const NodeId slope = b.make(Op::kSub, {b.number(1), b.make(Op::kMul, {b.y(), b.y()})});
      b.add(0, b.make(Op::kMul, {b.dy(), slope}));
    },
    25};
constexpr OpRow kSigmoid{
    Op::kSigmoid, [](const double* x) { return sigmoid(x[0]); },
    [](M& m, const V* x) { return m.sigmoid(x[0]); },
    // da = y (1 - y) dy
    [](A& b) {
      const NodeId slope = b.make(Op::kMul, {b.y(), b.make(Op::kSub, {b.number(1), b.y()})});
      b.add(0, b.make(Op::kMul, {b.dy(), slope}));
    },
    25};
constexpr OpRow kRelu{
    Op::kRelu, [](const double* x) { return x[0] > 0 ? x[0] : 0; },
    [](M& m, const V* x) { return m.if_greater(x[0], m.number(0), x[0], m.number(0)); },
    // da = a > 0 ? dy : 0
    [](A& b) { b.add(0, where_positive(b, b.in(0), b.dy())); }, 1};
constexpr OpRow kSoftplus{
    Op::kSoftplus,
    [](const double* x) { return std::max(x[0], 0.0) + std::log1p(std::exp(-std::abs(x[0]))); },
    [](M& m, const V* x) {
      const V tail = m.log(m.add(m.number(1), m.exp(m.neg(m.abs(x[0])))));
      return m.add(m.max(x[0], m.number(0)), tail);
    },
    // da = σ(a) dy
    [](A& b) {
      b.add(0, b.make(Op::kMul, {b.dy(), b.make(Op::kSigmoid, {b.in(0)})}));
    },
    45};
constexpr OpRow kSqrt{Op::kSqrt, [](const double* x) { return std::sqrt(x[0]); },
                      [](M& m, const V* x) { return m.sqrt(x[0]); },
                      // da = dy / 2y, and 0 at y = 0
                      [](A& b) {
                        const NodeId half = b.make(Op::kMul, {b.dy(), b.number(0.5)});
                        b.add(0, b.make(Op::kRatio, {half, b.y()}));
                      },
                      10};
constexpr OpRow kMin{Op::kMin, [](const double* x) { return x[0] > x[1] ? x[1] : x[0]; },
                     [](M& m, const V* x) { return m.min(x[0], x[1]); },
                     // da = a > b ? 0 : dy, db = a > b ? dy : 0
                     [](A& b) {
                       b.add(0, b.make(Op::kIfGreater, {b.in(0), b.in(1), b.number(0), b.dy()}));
                       b.add(1, b.make(Op::kIfGreater, {b.in(0), b.in(1), b.dy(), b.number(0)}));
                     },
                     1};
constexpr OpRow kMax{Op::kMax, [](const double* x) { return x[1] > x[0] ? x[1] : x[0]; },
                     [](M& m, const V* x) { return m.max(x[0], x[1]); },
                     // da = b > a ? 0 : dy, db = b > a ? dy : 0
                     [](A& b) {
                       b.add(0, b.make(Op::kIfGreater, {b.in(1), b.in(0), b.number(0), b.dy()}));
                       b.add(1, b.make(Op::kIfGreater, {b.in(1), b.in(0), b.dy(), b.number(0)}));
                     },
                     1};
constexpr OpRow kSelect{Op::kSelect, [](const double* x) { return x[0] != 0 ? x[1] : x[2]; },
                        [](M& m, const V* x) { return m.select(x[0], x[1], x[2]); },
                        // da = c ? dy : 0, db = c ? 0 : dy
                        [](A& b) {
                          b.add(1, b.make(Op::kSelect, {b.in(0), b.dy(), b.number(0)}));
                          b.add(2, b.make(Op::kSelect, {b.in(0), b.number(0), b.dy()}));
                        },
                        1};
constexpr OpRow kIfGreater{
    Op::kIfGreater, [](const double* x) { return x[0] > x[1] ? x[2] : x[3]; },
    [](M& m, const V* x) { return m.if_greater(x[0], x[1], x[2], x[3]); },
    // dc = a > b ? dy : 0, dd = a > b ? 0 : dy
    [](A& b) {
      b.add(2, b.make(Op::kIfGreater, {b.in(0), b.in(1), b.dy(), b.number(0)}));
      b.add(3, b.make(Op::kIfGreater, {b.in(0), b.in(1), b.number(0), b.dy()}));
    },
    1};
constexpr OpRow kLogDivide{
    Op::kLogDivide, [](const double* x) { return x[1] == -kInfinity ? -kInfinity : x[0] - x[1]; },
    [](M& m, const V* x) {
      const V low = m.number(-kInfinity);
      const V safe = m.if_greater(x[1], low, x[1], m.number(0));
      return m.if_greater(x[1], low, m.sub(x[0], safe), low);
    },
    // da = dy, db = -dy, and 0 where b = -∞
    [](A& b) {
      const NodeId d = b.make(Op::kIfGreater, {b.in(1), b.number(-kInfinity), b.dy(), b.number(0)});
      b.add(0, d);
      if (b.needs(1)) b.add(1, b.make(Op::kNeg, {d}));
    },
    1};
constexpr OpRow kRatio{Op::kRatio, [](const double* x) { return x[1] == 0 ? 0 : x[0] / x[1]; },
                       [](M& m, const V* x) {
                         const V safe = m.if_equal(x[1], m.number(0), m.number(1), x[1]);
                         return m.if_equal(x[1], m.number(0), m.number(0), m.div(x[0], safe));
                       },
                       // da = dy / b, db = -y dy / b, and 0 where b = 0
                       [](A& b) {
                         const NodeId da = b.make(Op::kRatio, {b.dy(), b.in(1)});
                         b.add(0, da);
                         if (b.needs(1))
                           b.add(1, b.make(Op::kNeg, {b.make(Op::kMul, {da, b.y()})}));
                       },
                       4};
constexpr OpRow kFinite{
    Op::kFinite, [](const double* x) { return std::isfinite(x[0]) ? x[0] : 0; },
    [](M& m, const V* x) {
      return m.if_greater(m.number(kInfinity), m.abs(x[0]), x[0], m.number(0));
    },
    // da = a finite ? dy : 0; max(a, -a) is |a|
    [](A& b) {
      const NodeId size = b.make(Op::kMax, {b.in(0), b.make(Op::kNeg, {b.in(0)})});
      b.add(0, b.make(Op::kIfGreater, {b.number(kInfinity), size, b.dy(), b.number(0)}));
    },
    1};
constexpr OpRow kStopGradient{Op::kStopGradient, [](const double* x) { return x[0]; },
                              [](M&, const V* x) { return x[0]; }, nullptr, 0};
constexpr OpRow kToReal{Op::kToReal, [](const double* x) { return x[0]; },
                        [](M& m, const V* x) { return m.to_real(x[0]); }, nullptr, 1};
constexpr OpRow kExpand{Op::kExpand, [](const double* x) { return x[0]; },
                        [](M&, const V* x) { return x[0]; },
                        // da = Σ dy
                        [](A& b) { b.add(0, b.dy()); }, 0};
constexpr OpRow kIntDiv{Op::kIntDiv, [](const double* x) { return std::floor(x[0] / x[1]); },
                        [](M& m, const V* x) { return m.int_div(x[0], x[1]); }, nullptr, 0};
constexpr OpRow kMod{Op::kMod, [](const double* x) { return std::fmod(x[0], x[1]); },
                     [](M& m, const V* x) { return m.mod(x[0], x[1]); }, nullptr, 0};
constexpr OpRow kEqual{Op::kEqual, [](const double* x) { return x[0] == x[1] ? 1.0 : 0.0; },
                       [](M& m, const V* x) { return m.equal(x[0], x[1]); }, nullptr, 0};
constexpr OpRow kLess{Op::kLess, [](const double* x) { return x[0] < x[1] ? 1.0 : 0.0; },
                      [](M& m, const V* x) { return m.less(x[0], x[1]); }, nullptr, 0};

// -- The others: evaluated by reference.cpp and emitted by emit.cpp over whole tensors. -----------

/// A reduction's result (or its gradient) with the reduced dimension back, as 1.
NodeId kept(A& b, NodeId id) {
  const Shape s = b.node(b.in(0)).type.shape;
  return b.reshape(id, s.rank() == 1 ? Shape{1} : Shape{s[0], 1});
}

constexpr OpRow kSum{Op::kSum, nullptr, nullptr,
                     // da_i = dy
                     [](A& b) {
                       const Shape shape = b.node(b.in(0)).type.shape;
                       b.add(0, b.make(Op::kExpand, {kept(b, b.dy())}, {.shape = shape}));
                     },
                     1};
constexpr OpRow kMaxOf{
    Op::kMaxOf, nullptr, nullptr,
    // da_i = a_i = y ? dy / n : 0, if n elements are the largest
    [](A& b) {
      const NodeId is_top =
          b.make(Op::kIfGreater, {kept(b, b.y()), b.in(0), b.number(0), b.number(1)});
      const NodeId n = b.make(Op::kSum, {is_top}, {.i = 1});
      b.add(0, b.make(Op::kMul, {is_top, b.make(Op::kDiv, {kept(b, b.dy()), n})}));
    },
    1};
constexpr OpRow kMatMul{
    Op::kMatMul, nullptr, nullptr,
    // Y = A B: dA = dY Bᵀ, dB = Aᵀ dY
    [](A& b) {
      const bool ta = b.node().attr.i != 0, tb = b.node().attr.j != 0;
      const NodeId a = b.in(0), w = b.in(1);
      if (b.needs(0)) {
        NodeId da = b.make(Op::kMatMul, {b.dy(), tb ? w : b.make(Op::kTranspose, {w})});
        b.add(0, ta ? b.make(Op::kTranspose, {da}) : da);
      }
      if (b.needs(1)) {
        const Axes axes = b.node(w).axes;
        const NodeId left = ta ? b.make(Op::kTranspose, {a}) : a;
        b.add(1, tb ? b.make(Op::kMatMulSum, {b.dy(), left}, {.axes = axes})
                    : b.make(Op::kMatMulSum, {left, b.dy()}, {.axes = axes}));
      }
    }};
constexpr OpRow kTranspose{Op::kTranspose, nullptr, nullptr,
                           // dA = dYᵀ
                           [](A& b) { b.add(0, b.make(Op::kTranspose, {b.dy()})); }};
constexpr OpRow kReshape{Op::kReshape, nullptr, nullptr,
                         [](A& b) { b.add(0, b.reshape(b.dy(), b.node(b.in(0)).type.shape)); }};
constexpr OpRow kConcat{
    Op::kConcat, nullptr, nullptr,
    // each part's gradient is its slice of dy
    [](A& b) {
      const int64_t axis = b.node().attr.axis;
      int64_t at = 0;
      for (size_t i = 0; i < b.node().in.size(); ++i) {
        const int64_t size = b.node(b.in(i)).type.shape[static_cast<int>(axis)];
        if (b.needs(i)) b.add(i, b.make(Op::kSlice, {b.dy()}, {.i = at, .j = size, .axis = axis}));
        at += size;
      }
    }};
constexpr OpRow kSlice{Op::kSlice, nullptr, nullptr,
                       // dy stands at the slice's place, 0 elsewhere
                       [](A& b) { b.add_slice(0, b.dy(), Attr(b.node().attr)); }};
/// Row and element: dA_i += dy.
constexpr auto scatter_adjoint = [](A& b) {
  const Node a = b.node(b.in(0));
  b.add(0, b.make(Op::kScatter, {b.dy(), b.in(1)}, {.shape = a.type.shape, .axes = a.axes}));
};
constexpr OpRow kRow{Op::kRow, nullptr, nullptr, scatter_adjoint};
constexpr OpRow kElement{Op::kElement, nullptr, nullptr, scatter_adjoint};
constexpr OpRow kUpdateRow{
    Op::kUpdateRow, nullptr, nullptr,
    // dA = dY with row i zero, dv = row i of dY
    [](A& b) {
      const Shape row{b.node().type.shape[1]};
      const NodeId d_row = b.make(Op::kRow, {b.dy(), b.in(1)});
      // A row of length T cannot be a constant.
      const NodeId zeros = row.is_static() ? b.zeros(row) : b.make(Op::kMul, {d_row, b.number(0)});
      if (b.needs(0)) b.add(0, b.make(Op::kUpdateRow, {b.dy(), b.in(1), zeros}));
      if (b.needs(2)) b.add(2, d_row);
    }};
constexpr OpRow kCandidates{
    Op::kCandidates, nullptr, nullptr,
    // da = row y_t of dY
    [](A& b) { b.add(0, b.reshape(b.make(Op::kAtTag, {b.dy()}), b.node(b.in(0)).type.shape)); }};

constexpr std::array kRows{OpRow{Op::kInput},
                           OpRow{Op::kParam},
                           OpRow{Op::kConst},
                           OpRow{Op::kScan},
                           kAdd,
                           kSub,
                           kMul,
                           kDiv,
                           kNeg,
                           kExp,
                           kLog,
                           kTanh,
                           kSigmoid,
                           kRelu,
                           kSoftplus,
                           kSqrt,
                           kMin,
                           kMax,
                           kSelect,
                           kIfGreater,
                           kLogDivide,
                           kRatio,
                           kFinite,
                           kStopGradient,
                           kToReal,
                           kExpand,
                           kIntDiv,
                           kMod,
                           kEqual,
                           kLess,
                           kSum,
                           kMaxOf,
                           kMatMul,
                           kTranspose,
                           kReshape,
                           kConcat,
                           kSlice,
                           kRow,
                           kElement,
                           kUpdateRow,
                           OpRow{Op::kOneHot},
                           kCandidates,
                           OpRow{Op::kAtTag},
                           OpRow{Op::kSumAxes},
                           OpRow{Op::kScatter},
                           OpRow{Op::kMatMulSum}};

constexpr bool in_order() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].op) != i) return false;
  }
  return kRows.size() == static_cast<size_t>(kNumOps);
}
static_assert(in_order(), "the table's rows follow enum Op");

double elements(const Shape& shape, int length) {
  double count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis)
    count *= shape[axis] == kLength ? length : shape[axis];
  return count;
}

}  // namespace

const OpRow& row(Op op) { return kRows[static_cast<size_t>(op)]; }

double flops(const Graph& graph, NodeId id, int length) {
  const Node& node = graph[id];
  const auto size = [&](size_t i) { return elements(graph[node.in[i]].type.shape, length); };
  switch (node.op) {
    case Op::kMatMul: {
      const Shape& a = graph[node.in[0]].type.shape;
      const int k = a.rank() == 1 ? a[0] : a[node.attr.i != 0 ? 0 : 1];
      return 2 * elements(node.type.shape, length) * (k == kLength ? length : k);
    }
    case Op::kMatMulSum:
      return 2 * size(0) * graph[node.in[1]].type.shape.last();
    case Op::kSum:
    case Op::kMaxOf:
    case Op::kSumAxes:
    case Op::kScatter:
      return size(0);
    default:
      return node.type.is_int() ? 0 : row(node.op).flops * elements(node.type.shape, length);
  }
}

}  // namespace scry
