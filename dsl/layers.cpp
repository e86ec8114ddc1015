#include "dsl/layers.h"

#include <cmath>

#include "dsl/layer_errors.h"

namespace scry {

Embedding::Embedding(ParamOwner& owner, const std::string& name, int count, int size, Where where)
    : name_("embedding '" + name + "'"),
      weight_(owner.param(name + ".weight", {count, size}, Init::normal(1), where)) {}

Expr Embedding::operator[](SymOperand i) const {
  return report_at(i.where, name_, [&] { return weight_[i]; });
}

Linear::Linear(ParamOwner& owner, const std::string& name, int in, int out, Bias bias, Where where)
    : name_("linear '" + name + "'"),
      weight_(owner.param(name + ".weight", {out, in}, Init::uniform(1 / std::sqrt(in)), where)) {
  if (bias == Bias::kNo) return;
  bias_.push_back(owner.param(name + ".bias", {out}, Init::uniform(1 / std::sqrt(in)), where));
}

Expr Linear::operator()(Operand x) const {
  const Where w = x.where;
  return report_at(w, name_, [&] {
    const Operand weight(weight_, w);
    want_size(x, "the operand", weight.expr.shape()[1], true);
    const Expr product = matmul(x, Operand(transpose(weight), w));
    return bias_.empty() ? product : Operand(product, w) + Operand(bias_[0], w);
  });
}

Mlp::Mlp(ParamOwner& owner, const std::string& name, const std::vector<int>& sizes,
         Activation activation, Where where)
    : name_("mlp '" + name + "'"), activation_(activation) {
  if (sizes.size() < 2) throw ModelError(where, name_ + ": needs at least two sizes, in and out");
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    layers_.emplace_back(owner, fmt::format("{}.{}", name, 2 * i), sizes[i], sizes[i + 1], where);
  }
}

Expr Mlp::operator()(Operand x) const {
  const Where w = x.where;
  return report_at(w, name_, [&] {
    Expr value = layers_[0](x);
    for (size_t i = 1; i < layers_.size(); ++i) {
      const Expr active =
          activation_ == Activation::kRelu ? relu(Operand(value, w)) : tanh(Operand(value, w));
      value = layers_[i](Operand(active, w));
    }
    return value;
  });
}

LayerNorm::LayerNorm(ParamOwner& owner, const std::string& name, int size, double eps, Where where)
    : name_("layer norm '" + name + "'"),
      eps_(eps),
      weight_(owner.param(name + ".weight", {size}, Init::fill(1), where)),
      bias_(owner.param(name + ".bias", {size}, Init::fill(0), where)) {}

Expr LayerNorm::operator()(Operand x) const {
  const Where w = x.where;
  const auto at = [w](const Expr& expr) { return Operand(expr, w); };
  return report_at(w, name_, [&] {
    const Operand weight(weight_, w), bias(bias_, w);
    want_size(x, "the operand", weight.expr.size(), false);
    const Operand centered = at(x - at(mean(x)));
    const Operand variance = at(mean(at(centered * centered)));
    const Operand deviation = at(sqrt(at(variance + Operand(eps_, w))));
    return at(at(centered / deviation) * weight) + bias;
  });
}

Expr attend(Operand query, Operand keys, Operand values) {
  const Where w = query.where;
  const auto at = [w](const Expr& expr) { return Operand(expr, w); };
  return report_at(w, "attend", [&] {
    if (!query.expr.is_defined() || query.expr.shape().rank() != 1 ||
        !query.expr.shape().is_static()) {
      throw ModelError(w, "the query must be a vector of a fixed size");
    }
    if (!keys.expr.is_defined() || keys.expr.shape().rank() != 2 || !values.expr.is_defined() ||
        values.expr.shape().rank() != 2) {
      throw ModelError(w, "the keys and the values must be matrices, a row for each position");
    }
    const double scale = 1 / std::sqrt(query.expr.size());
    const Operand scores = at(at(matmul(at(keys.expr), query)) * Operand(scale, w));
    return matmul(at(softmax(scores)), at(values.expr));
  });
}

}  // namespace scry
