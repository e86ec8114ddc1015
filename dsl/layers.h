// Feed-forward layers. Formulas, parameter names, shapes and initial values are PyTorch's, so that
// weights can be exchanged. A layer adds its parameters `name.…` to the owner it is made with;
// what it reports, it reports at the line of the model file that made or called it.
#pragma once
#include <string>
#include <vector>

#include "dsl/model.h"

namespace scry {

/// nn.Embedding: `count` vectors. Parameter: weight [count, size].
class Embedding {
 public:
  Embedding(ParamOwner& owner, const std::string& name, int count, int size,
            Where where = Where::here());
  /// Vector i: [size].
  Expr operator[](SymOperand i) const;
  Expr table(Where where = Where::here()) const { return weight_.expr(where); }

 private:
  std::string name_;
  Parameter weight_;
};

enum class Bias : uint8_t { kYes, kNo };

/// nn.Linear: W x + b. Parameters: weight [out, in], bias [out].
class Linear {
 public:
  Linear(ParamOwner& owner, const std::string& name, int in, int out, Bias bias,
         Where where = Where::here());
  Linear(ParamOwner& owner, const std::string& name, int in, int out, Where where = Where::here())
      : Linear(owner, name, in, out, Bias::kYes, where) {}
  /// [in] to [out], or each row of [m, in] to a row of [m, out].
  Expr operator()(Operand x) const;

 private:
  std::string name_;
  Parameter weight_;
  std::vector<Parameter> bias_;  // one or none
};

enum class Activation : uint8_t { kRelu, kTanh };

/// Linear layers of these sizes, with the activation between them and none after the last.
/// Parameters: those of nn.Sequential(Linear, ReLU, Linear, …), so 0.weight, 0.bias, 2.weight, ….
class Mlp {
 public:
  Mlp(ParamOwner& owner, const std::string& name, const std::vector<int>& sizes,
      Activation activation = Activation::kRelu, Where where = Where::here());
  Expr operator()(Operand x) const;

 private:
  std::string name_;
  Activation activation_;
  std::vector<Linear> layers_;
};

/// nn.LayerNorm: (x - mean x) / √(var x + eps) * weight + bias, for a vector of `size`.
class LayerNorm {
 public:
  LayerNorm(ParamOwner& owner, const std::string& name, int size, double eps = 1e-5,
            Where where = Where::here());
  Expr operator()(Operand x) const;

 private:
  std::string name_;
  double eps_;
  Parameter weight_, bias_;
};

/// Scaled dot-product attention, softmax(K q / √d)ᵀ V: a vector, for a query [d], keys [n, d] and
/// values [n, m]. n may be the length T.
Expr attend(Operand query, Operand keys, Operand values);

}  // namespace scry
