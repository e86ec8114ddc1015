// Elementwise operations, with NumPy's broadcasting. The comments are the value and the derivative.
#include <array>
#include <cmath>
#include <limits>

#include "compiler/adjoint.h"
#include "compiler/emission.h"
#include "compiler/evaluation.h"
#include "compiler/op_table.h"

namespace scry {
namespace {

using A = AdjointBuilder;
using E = Emission;
using M = MathEmitter;
using V = llvm::Value*;
using X = Evaluation;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kMaxOperands = 4;

double sigmoid(double a) { return 1 / (1 + std::exp(-a)); }

/// x > 0 ? d : 0, for the adjoints that would be 0/0 where x = 0.
NodeId where_positive(A& b, NodeId x, NodeId d) {
  return b.make(Op::kIfGreater, {x, b.number(0), d, b.number(0)});
}

/// A row from the value and the code of one element, given the operands' elements x[0], x[1], ….
/// Both are lambdas that capture nothing: their types are all there is to them.
template <class OfElements, class CodeOfElements>
constexpr OpRow elementwise(Op op, OfElements, CodeOfElements, void (*adjoint)(A&), double cost) {
  return {.op = op,
          .reach = Reach::kElement,
          .cost = cost,
          .value =
              [](const X& x, int i, int j) {
                std::array<double, kMaxOperands> operands;
                for (size_t p = 0; p < x.node.in.size(); ++p) operands[p] = x.broadcast(p, i, j);
                return static_cast<double>(OfElements{}(operands.data()));
              },
          .element =
              [](E& e, V i, V j) {
                std::array<V, kMaxOperands> operands;
                for (size_t p = 0; p < e.node.in.size(); ++p) operands[p] = e.value(p, i, j);
                return CodeOfElements{}(e.m, operands.data());
              },
          .adjoint = adjoint};
}

constexpr OpRow kRows[] = {

    elementwise(
        Op::kAdd,  // y = a + b
        [](const double* x) { return x[0] + x[1]; },
        [](M& m, const V* x) { return m.add(x[0], x[1]); },
        // da = dy, db = dy
        [](A& b) { b.add(0, b.dy()), b.add(1, b.dy()); }, 1),

    elementwise(
        Op::kSub,  // y = a - b
        [](const double* x) { return x[0] - x[1]; },
        [](M& m, const V* x) { return m.sub(x[0], x[1]); },
        // da = dy, db = -dy
        [](A& b) { b.add(0, b.dy()), b.add(1, b.make(Op::kNeg, {b.dy()})); }, 1),

    elementwise(
        Op::kMul,  // y = a b
        [](const double* x) { return x[0] * x[1]; },
        [](M& m, const V* x) { return m.mul(x[0], x[1]); },
        // da = b dy, db = a dy
        [](A& b) {
          if (b.needs(0)) b.add(0, b.make(Op::kMul, {b.dy(), b.in(1)}));
          if (b.needs(1)) b.add(1, b.make(Op::kMul, {b.dy(), b.in(0)}));
        },
        1),

    elementwise(
        Op::kDiv,  // y = a / b
        [](const double* x) { return x[0] / x[1]; },
        [](M& m, const V* x) { return m.div(x[0], x[1]); },
        // da = dy / b, db = -y dy / b
        [](A& b) {
          const NodeId da = b.make(Op::kDiv, {b.dy(), b.in(1)});
          b.add(0, da);
          if (b.needs(1)) b.add(1, b.make(Op::kNeg, {b.make(Op::kMul, {da, b.y()})}));
        },
        4),

    elementwise(
        Op::kNeg,  // y = -a
        [](const double* x) { return -x[0]; }, [](M& m, const V* x) { return m.neg(x[0]); },
        // da = -dy
        [](A& b) { b.add(0, b.make(Op::kNeg, {b.dy()})); }, 1),

    elementwise(
        Op::kExp,  // y = exp a
        [](const double* x) { return std::exp(x[0]); },
        [](M& m, const V* x) { return m.exp(x[0]); },
        // da = y dy
        [](A& b) {
          b.add(0, b.make(Op::kMul, {b.dy(), b.y()}));
        },
        20),

    elementwise(
        Op::kLog,  // y = log a
        [](const double* x) { return std::log(x[0]); },
        [](M& m, const V* x) { return m.log(x[0]); },
        // da = dy / a, and 0 at a = 0
        [](A& b) {
          b.add(0, where_positive(b, b.in(0), b.make(Op::kDiv, {b.dy(), b.in(0)})));
        },
        20),

    elementwise(
        Op::kTanh,  // y = tanh a
        [](const double* x) { return std::tanh(x[0]); },
        // 2σ(2a) - 1: one exp, and cheaper to differentiate than tanh
        [](M& m, const V* x) {
          return m.sub(m.mul(m.number(2), m.sigmoid(m.add(x[0], x[0]))), m.number(1));
        },
        // da = (1 - y²) dy
        [](A& b) {
          const NodeId slope = b.make(Op::kSub, {b.number(1), b.make(Op::kMul, {b.y(), b.y()})});
          b.add(0, b.make(Op::kMul, {b.dy(), slope}));
        },
        25),

    elementwise(
        Op::kSigmoid,  // y = σ(a) = 1 / (1 + exp -a)
        [](const double* x) { return sigmoid(x[0]); },
        [](M& m, const V* x) { return m.sigmoid(x[0]); },
        // da = y (1 - y) dy
        [](A& b) {
          const NodeId slope = b.make(Op::kMul, {b.y(), b.make(Op::kSub, {b.number(1), b.y()})});
          b.add(0, b.make(Op::kMul, {b.dy(), slope}));
        },
        25),

    elementwise(
        Op::kRelu,  // y = max(a, 0)
        [](const double* x) { return x[0] > 0 ? x[0] : 0; },
        [](M& m, const V* x) { return m.if_greater(x[0], m.number(0), x[0], m.number(0)); },
        // da = a > 0 ? dy : 0
        [](A& b) { b.add(0, where_positive(b, b.in(0), b.dy())); }, 1),

    elementwise(
        Op::kSoftplus,  // y = log(1 + exp a) = max(a, 0) + log(1 + exp -|a|)

        [](const double* x) { return std::max(x[0], 0.0) + std::log1p(std::exp(-std::abs(x[0]))); },
        [](M& m, const V* x) {
          const V tail = m.log(m.add(m.number(1), m.exp(m.neg(m.abs(x[0])))));
          return m.add(m.max(x[0], m.number(0)), tail);
        },
        // da = σ(a) dy
        [](A& b) {
          b.add(0, b.make(Op::kMul, {b.dy(), b.make(Op::kSigmoid, {b.in(0)})}));
        },
        45),

    elementwise(
        Op::kSqrt,  // y = √a
        [](const double* x) { return std::sqrt(x[0]); },
        [](M& m, const V* x) { return m.sqrt(x[0]); },
        // da = dy / 2y, and 0 at y = 0
        [](A& b) {
          const NodeId half = b.make(Op::kMul, {b.dy(), b.number(0.5)});
          b.add(0, b.make(Op::kRatio, {half, b.y()}));
        },
        10),

    elementwise(
        Op::kMin,  // y = min(a, b)
        [](const double* x) { return x[0] > x[1] ? x[1] : x[0]; },
        [](M& m, const V* x) { return m.min(x[0], x[1]); },
        // da = a > b ? 0 : dy, db = a > b ? dy : 0
        [](A& b) {
          b.add(0, b.make(Op::kIfGreater, {b.in(0), b.in(1), b.number(0), b.dy()}));
          b.add(1, b.make(Op::kIfGreater, {b.in(0), b.in(1), b.dy(), b.number(0)}));
        },
        1),

    elementwise(
        Op::kMax,  // y = max(a, b)
        [](const double* x) { return x[1] > x[0] ? x[1] : x[0]; },
        [](M& m, const V* x) { return m.max(x[0], x[1]); },
        // da = b > a ? 0 : dy, db = b > a ? dy : 0
        [](A& b) {
          b.add(0, b.make(Op::kIfGreater, {b.in(1), b.in(0), b.number(0), b.dy()}));
          b.add(1, b.make(Op::kIfGreater, {b.in(1), b.in(0), b.dy(), b.number(0)}));
        },
        1),

    elementwise(
        Op::kSelect,  // y = c ? a : b
        [](const double* x) { return x[0] != 0 ? x[1] : x[2]; },
        [](M& m, const V* x) { return m.select(x[0], x[1], x[2]); },
        // da = c ? dy : 0, db = c ? 0 : dy
        [](A& b) {
          b.add(1, b.make(Op::kSelect, {b.in(0), b.dy(), b.number(0)}));
          b.add(2, b.make(Op::kSelect, {b.in(0), b.number(0), b.dy()}));
        },
        1),

    elementwise(
        Op::kIfGreater,  // y = a > b ? c : d
        [](const double* x) { return x[0] > x[1] ? x[2] : x[3]; },
        [](M& m, const V* x) { return m.if_greater(x[0], x[1], x[2], x[3]); },
        // dc = a > b ? dy : 0, dd = a > b ? 0 : dy
        [](A& b) {
          b.add(2, b.make(Op::kIfGreater, {b.in(0), b.in(1), b.dy(), b.number(0)}));
          b.add(3, b.make(Op::kIfGreater, {b.in(0), b.in(1), b.number(0), b.dy()}));
        },
        1),

    elementwise(
        Op::kLogDivide,  // y = a - b, and -∞ where b = -∞
        [](const double* x) { return x[1] == -kInfinity ? -kInfinity : x[0] - x[1]; },
        [](M& m, const V* x) {
          const V low = m.number(-kInfinity);
          const V safe = m.if_greater(x[1], low, x[1], m.number(0));
          return m.if_greater(x[1], low, m.sub(x[0], safe), low);
        },
        // da = dy, db = -dy, and 0 where b = -∞
        [](A& b) {
          const NodeId d =
              b.make(Op::kIfGreater, {b.in(1), b.number(-kInfinity), b.dy(), b.number(0)});
          b.add(0, d);
          if (b.needs(1)) b.add(1, b.make(Op::kNeg, {d}));
        },
        1),

    elementwise(
        Op::kRatio,  // y = a / b, and 0 where b = 0
        [](const double* x) { return x[1] == 0 ? 0 : x[0] / x[1]; },
        [](M& m, const V* x) {
          const V safe = m.if_equal(x[1], m.number(0), m.number(1), x[1]);
          return m.if_equal(x[1], m.number(0), m.number(0), m.div(x[0], safe));
        },
        // da = dy / b, db = -y dy / b, and 0 where b = 0
        [](A& b) {
          const NodeId da = b.make(Op::kRatio, {b.dy(), b.in(1)});
          b.add(0, da);
          if (b.needs(1)) b.add(1, b.make(Op::kNeg, {b.make(Op::kMul, {da, b.y()})}));
        },
        4),

    elementwise(
        Op::kFinite,  // y = a if finite, else 0
        [](const double* x) { return std::isfinite(x[0]) ? x[0] : 0; },
        [](M& m, const V* x) {
          return m.if_greater(m.number(kInfinity), m.abs(x[0]), x[0], m.number(0));
        },
        // da = a finite ? dy : 0; max(a, -a) is |a|
        [](A& b) {
          const NodeId size = b.make(Op::kMax, {b.in(0), b.make(Op::kNeg, {b.in(0)})});
          b.add(0, b.make(Op::kIfGreater, {b.number(kInfinity), size, b.dy(), b.number(0)}));
        },
        1),

    elementwise(
        Op::kStopGradient,  // y = a, with gradient 0
        [](const double* x) { return x[0]; }, [](M&, const V* x) { return x[0]; }, nullptr, 0),

    elementwise(
        Op::kToReal,  // y = a
        [](const double* x) { return x[0]; }, [](M& m, const V* x) { return m.to_real(x[0]); },
        nullptr, 1),

    elementwise(
        Op::kExpand,  // y = a, broadcast
        [](const double* x) { return x[0]; }, [](M&, const V* x) { return x[0]; },
        // da = Σ dy
        [](A& b) { b.add(0, b.dy()); }, 0),

    elementwise(
        Op::kIntDiv,  // y = ⌊a / b⌋
        [](const double* x) { return std::floor(x[0] / x[1]); },
        [](M& m, const V* x) { return m.int_div(x[0], x[1]); }, nullptr, 1),

    elementwise(
        Op::kMod,  // y = a mod b
        [](const double* x) { return std::fmod(x[0], x[1]); },
        [](M& m, const V* x) { return m.mod(x[0], x[1]); }, nullptr, 1),

    elementwise(
        Op::kEqual,  // y = a = b ? 1 : 0
        [](const double* x) { return x[0] == x[1] ? 1.0 : 0.0; },
        [](M& m, const V* x) { return m.equal(x[0], x[1]); }, nullptr, 1),

    elementwise(
        Op::kLess,  // y = a < b ? 1 : 0
        [](const double* x) { return x[0] < x[1] ? 1.0 : 0.0; },
        [](M& m, const V* x) { return m.less(x[0], x[1]); }, nullptr, 1),

};

}  // namespace

std::span<const OpRow> elementwise_rows() { return kRows; }

}  // namespace scry
