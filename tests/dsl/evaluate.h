// A plain evaluator of expressions, so that the DSL's tests need no compiler: one double loop per
// operation, no sharing, and only the operations that layers use.
#pragma once
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsl/model.h"

namespace scry::testing {

/// A row-major matrix; a vector is one row, a scalar or symbol one element.
struct Tensor {
  int rows = 1, cols = 1;
  std::vector<double> values;
  double& at(int r, int c) { return values[static_cast<size_t>(r * cols + c)]; }
  double at(int r, int c) const { return values[static_cast<size_t>(r * cols + c)]; }
};

/// Element i of the owner's k-th parameter is 0.5 sin(1 + i + 10k): the golden numbers of the tests
/// are PyTorch's for these weights.
inline double golden_weight(size_t param, size_t i) {
  return 0.5 * std::sin(1.0 + static_cast<double>(i) + 10.0 * static_cast<double>(param));
}

/// Evaluates with golden weights at position `t` of the sequence `x`, in which every kInput is the
/// symbol x[t] or the state before of a scan.
class Evaluator {
 public:
  Evaluator(const ParamOwner& owner, std::vector<int> x) : owner_(owner), x_(std::move(x)) {}

  std::vector<double> operator()(const Expr& expr, int t = 0) {
    return evaluate(*expr.node(), t).values;
  }

 private:
  static Tensor make(const Type& type, std::vector<double> values = {}) {
    Tensor out{type.shape.rows(), type.shape.last(), std::move(values)};
    out.values.resize(static_cast<size_t>(out.rows * out.cols));
    return out;
  }

  Tensor evaluate(const Traced& node, int t) {
    switch (node.op) {
      case Op::kInput:
        return input(node, t);
      case Op::kParam:
        return param(node);
      case Op::kConst:
        return make(node.type, *node.attr.data);
      case Op::kScan:
        return scan(node, t);
      default:
        break;
    }
    std::vector<Tensor> in;
    for (const TracedPtr& operand : node.in) in.push_back(evaluate(*operand, t));
    Tensor out = make(node.type);
    for (int r = 0; r < out.rows; ++r) {
      for (int c = 0; c < out.cols; ++c) out.at(r, c) = element(node, in, r, c);
    }
    return out;
  }

  Tensor input(const Traced& node, int t) const {
    const auto found = before_.find(&node);
    if (found != before_.end()) return found->second;
    return make(node.type, {static_cast<double>(x_.at(static_cast<size_t>(t)))});
  }

  Tensor param(const Traced& node) const {
    for (size_t k = 0; k < owner_.params().size(); ++k) {
      if (owner_.params()[k] != node.attr.param) continue;
      Tensor out = make(node.type);
      for (size_t i = 0; i < out.values.size(); ++i) out.values[i] = golden_weight(k, i);
      return out;
    }
    throw std::logic_error("a parameter of another owner: " + node.attr.name);
  }

  Tensor scan(const Traced& node, int t) {
    const Scan& scan = *node.attr.scan;
    const bool forward = scan.direction == Direction::kLeftToRight;
    std::vector<Tensor> state;
    for (const TracedPtr& leaf : scan.previous) state.push_back(make(leaf->type));
    for (int at = forward ? 0 : static_cast<int>(x_.size()) - 1;; at += forward ? 1 : -1) {
      const auto outer = before_;
      for (size_t i = 0; i < state.size(); ++i) before_[scan.previous[i].get()] = state[i];
      std::vector<Tensor> next;
      for (const TracedPtr& value : scan.next) next.push_back(evaluate(*value, at));
      before_ = outer;
      state = std::move(next);
      if (at == t) return state[static_cast<size_t>(node.attr.i)];
    }
  }

  static double element(const Traced& node, const std::vector<Tensor>& in, int r, int c) {
    const auto a = [&](size_t i) {  // operand i, broadcast
      return in[i].at(in[i].rows == 1 ? 0 : r, in[i].cols == 1 ? 0 : c);
    };
    const auto row = [&](size_t i) { return static_cast<int>(in[i].values[0]); };
    switch (node.op) {
      case Op::kAdd:
        return a(0) + a(1);
      case Op::kSub:
        return a(0) - a(1);
      case Op::kMul:
        return a(0) * a(1);
      case Op::kDiv:
        return a(0) / a(1);
      case Op::kExp:
        return std::exp(a(0));
      case Op::kLog:
        return std::log(a(0));
      case Op::kTanh:
        return std::tanh(a(0));
      case Op::kSigmoid:
        return 1 / (1 + std::exp(-a(0)));
      case Op::kRelu:
        return std::max(a(0), 0.0);
      case Op::kSqrt:
        return std::sqrt(a(0));
      case Op::kLogDivide:
        return a(0) - a(1);
      case Op::kFinite:
        return std::isfinite(a(0)) ? a(0) : 0;
      case Op::kStopGradient:
        return a(0);
      case Op::kToReal:
        return a(0);
      case Op::kRow:
        return in[0].at(row(1), c);
      case Op::kElement:
        return in[0].at(0, row(1));
      case Op::kTranspose:
        return in[0].at(c, r);
      case Op::kReshape:
        return in[0].values[static_cast<size_t>(r * node.type.shape.last() + c)];
      case Op::kSlice:
        return node.attr.axis + 1 == node.in[0]->type.shape.rank()
                   ? in[0].at(r, c + static_cast<int>(node.attr.i))
                   : in[0].at(r + static_cast<int>(node.attr.i), c);
      case Op::kConcat:
        return concat(in, node.type.shape.rank() == 2, r, c);
      case Op::kSum:
        return reduce(in[0], node, r, c, [](double x, double y) { return x + y; });
      case Op::kMaxOf:
        return reduce(in[0], node, r, c, [](double x, double y) { return std::max(x, y); });
      case Op::kMatMul: {
        double total = 0;
        for (int k = 0; k < in[0].cols; ++k) total += in[0].at(r, k) * in[1].at(k, c);
        return total;
      }
      default:
        throw std::logic_error(std::string("no evaluation for ") + info(node.op).name);
    }
  }

  static double concat(const std::vector<Tensor>& in, bool rows, int r, int c) {
    for (const Tensor& part : in) {
      if (rows ? r < part.rows : c < part.cols) return part.at(r, c);
      (rows ? r : c) -= rows ? part.rows : part.cols;
    }
    throw std::logic_error("concat");
  }

  template <typename Fold>
  static double reduce(const Tensor& a, const Traced& node, int r, int c, Fold fold) {
    const int row = node.type.shape.rank() == 2 ? r : c;  // a matrix's results may be a vector
    double total = a.at(row, 0);
    for (int k = 1; k < a.cols; ++k) total = fold(total, a.at(row, k));
    return total;
  }

  const ParamOwner& owner_;
  std::vector<int> x_;
  std::map<const Traced*, Tensor> before_;
};

}  // namespace scry::testing
