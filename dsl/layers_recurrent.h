// Recurrent layers: one step of a GRU or LSTM (for step and back), stacks of them, and
// bidirectional encoders (for encode). Like layers.h, PyTorch's in formulas, names and layout.
#pragma once
#include <concepts>
#include <string>
#include <vector>

#include "dsl/layers.h"

namespace scry {

/// nn.GRUCell. Parameters: weight_ih [3h, in], weight_hh [3h, h], bias_ih, bias_hh [3h], with the
/// gates in the order r, z, n:
///   r = σ(W_ir x + b_ir + W_hr h + b_hr),  z likewise,
///   n = tanh(W_in x + b_in + r ⊙ (W_hn h + b_hn)),  h' = (1 - z) ⊙ n + z ⊙ h
class Gru {
 public:
  Gru(ParamOwner& owner, const std::string& name, int in, int hidden, Where where = Where::here())
      : Gru(owner, name, "", in, hidden, where) {}
  /// With `suffix` after each parameter's name: "_l0", as in nn.GRU.
  Gru(ParamOwner& owner, const std::string& name, const std::string& suffix, int in, int hidden,
      Where where = Where::here());
  /// The state after reading x in state h.
  Expr operator()(Operand h, Operand x) const;
  /// In Model::encode: the state after each position, having read `input` along the sequence.
  Expr scan(Operand input, Direction direction) const;

 private:
  std::string name_;
  int in_, hidden_;
  Parameter weight_ih_, weight_hh_, bias_ih_, bias_hh_;
};

/// An LSTM's output and cell.
struct LstmState {
  Expr h, c;
};

/// nn.LSTMCell. Parameters as for Gru, [4h, …], with the gates in the order i, f, g, o:
///   i, f, o = σ(W x + b + W h + b),  g = tanh(…),  c' = f ⊙ c + i ⊙ g,  h' = o ⊙ tanh(c')
class Lstm {
 public:
  Lstm(ParamOwner& owner, const std::string& name, int in, int hidden, Where where = Where::here())
      : Lstm(owner, name, "", in, hidden, where) {}
  Lstm(ParamOwner& owner, const std::string& name, const std::string& suffix, int in, int hidden,
       Where where = Where::here());
  LstmState operator()(Operand h, Operand c, Operand x) const;
  /// In Model::encode: the output h after each position.
  Expr scan(Operand input, Direction direction) const;

 private:
  std::string name_;
  int in_, hidden_;
  Parameter weight_ih_, weight_hh_, bias_ih_, bias_hh_;
};

/// One step of nn.GRU(in, hidden, layers). Parameters: weight_ih_l0, weight_hh_l0, …, _l1, ….
class StackedGru {
 public:
  StackedGru(ParamOwner& owner, const std::string& name, int in, int hidden, int layers,
             Where where = Where::here());
  /// The state's components h0, h1, …, the last of which is the top.
  static StateSpec state(int hidden, int layers, Where where = Where::here());

  /// The layers' states after reading x, from the bottom up.
  std::vector<Expr> operator()(const std::vector<Expr>& h, Operand x) const;
  /// The same on a State with the components h0, h1, …; it returns these and no others. A template
  /// so that {s["h0"], s["h1"]} can only mean the vector above.
  template <std::same_as<State> S>
  State operator()(const S& s, Operand x) const {
    return next_state(s, x);
  }

 private:
  State next_state(const State& s, const Operand& x) const;
  std::string name_;
  std::vector<Gru> layers_;
};

/// The layers' outputs and cells, from the bottom up.
struct StackedLstmState {
  std::vector<Expr> h, c;
};

/// One step of nn.LSTM(in, hidden, layers).
class StackedLstm {
 public:
  StackedLstm(ParamOwner& owner, const std::string& name, int in, int hidden, int layers,
              Where where = Where::here());
  /// The state's components h0, c0, h1, c1, ….
  static StateSpec state(int hidden, int layers, Where where = Where::here());

  StackedLstmState operator()(const std::vector<Expr>& h, const std::vector<Expr>& c,
                              Operand x) const;
  /// The same on a State with the components h0, c0, …; it returns these and no others.
  State operator()(const State& s, Operand x) const;

 private:
  std::string name_;
  std::vector<Lstm> layers_;
};

/// nn.GRU or nn.LSTM with bidirectional=True, `layers` deep, for Model::encode: [in] at each
/// position to the concatenation [2 hidden] of what the scan from the left and the scan from the
/// right have read by then, this position included. Parameters: weight_ih_l0, …,
/// weight_ih_l0_reverse, ….
template <typename Cell>
class Bidirectional {
 public:
  Bidirectional(ParamOwner& owner, const std::string& name, int in, int hidden, int layers = 1,
                Where where = Where::here());
  Expr operator()(Operand input) const;

 private:
  struct Layer {
    Cell forward, backward;
  };
  std::string name_;
  std::vector<Layer> layers_;
};
using BiGru = Bidirectional<Gru>;
using BiLstm = Bidirectional<Lstm>;

}  // namespace scry
