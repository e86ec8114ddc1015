#include "dsl/layers_recurrent.h"

#include <cmath>
#include <type_traits>

#include "dsl/layer_errors.h"

namespace scry {
namespace {

Parameter recurrent_param(ParamOwner& owner, const std::string& name, Shape shape, int hidden,
                          Where where) {
  return owner.param(name, shape, Init::uniform(1 / std::sqrt(hidden)), where);
}

/// W a + b: all the gates' inputs from x or from h.
Operand affine(const Operand& a, const Parameter& weight, const Parameter& bias, Where w) {
  const Operand transposed(transpose(Operand(weight, w)), w);
  return Operand(Operand(matmul(Operand(a.expr, w), transposed), w) + Operand(bias, w), w);
}

std::string layer_suffix(int layer) { return fmt::format("_l{}", layer); }

void want_layers(const std::string& name, int layers, Where where) {
  if (layers < 1)
    throw ModelError(where, fmt::format("{}: needs at least 1 layer, got {}", name, layers));
}

void want_states(size_t given, size_t layers) {
  if (given != layers) {
    throw ModelError({}, fmt::format("{} states given for {} layers", given, layers));
  }
}

State state_of(const std::vector<Expr>& components, Where where) {
  std::vector<Value> values;
  for (const Expr& component : components) values.emplace_back(component, where);
  return State(std::move(values), where);
}

}  // namespace

Gru::Gru(ParamOwner& owner, const std::string& name, const std::string& suffix, int in, int hidden,
         Where where)
    : name_("gru '" + name + "'"),
      in_(in),
      hidden_(hidden),
      weight_ih_(
          recurrent_param(owner, name + ".weight_ih" + suffix, {3 * hidden, in}, hidden, where)),
      weight_hh_(recurrent_param(owner, name + ".weight_hh" + suffix, {3 * hidden, hidden}, hidden,
                                 where)),
      bias_ih_(recurrent_param(owner, name + ".bias_ih" + suffix, {3 * hidden}, hidden, where)),
      bias_hh_(recurrent_param(owner, name + ".bias_hh" + suffix, {3 * hidden}, hidden, where)) {}

Expr Gru::operator()(Operand h, Operand x) const {
  const Where w = h.where;
  const auto at = [w](const Expr& expr) { return Operand(expr, w); };
  const auto gate = [&](const Operand& a, int i) { return at(slice(a, i * hidden_, hidden_)); };
  return report_at(w, name_, [&] {
    want_size(h, "the state (first argument)", hidden_, true);
    want_size(x, "the input (second argument)", in_, true);
    const Operand of_x = affine(x, weight_ih_, bias_ih_, w),
                  of_h = affine(h, weight_hh_, bias_hh_, w);
    const Operand r = at(sigmoid(at(gate(of_x, 0) + gate(of_h, 0))));
    const Operand z = at(sigmoid(at(gate(of_x, 1) + gate(of_h, 1))));
    const Operand n = at(tanh(at(gate(of_x, 2) + at(r * gate(of_h, 2)))));
    return n + at(z * at(at(h.expr) - n));
  });
}

Expr Gru::scan(Operand input, Direction direction) const {
  const Where w = input.where;
  return scry::scan(
      direction, {hidden_},
      [&](const std::vector<Expr>& before) {
        return std::vector<Expr>{(*this)(Operand(before[0], w), input)};
      },
      w)[0];
}

Lstm::Lstm(ParamOwner& owner, const std::string& name, const std::string& suffix, int in,
           int hidden, Where where)
    : name_("lstm '" + name + "'"),
      in_(in),
      hidden_(hidden),
      weight_ih_(
          recurrent_param(owner, name + ".weight_ih" + suffix, {4 * hidden, in}, hidden, where)),
      weight_hh_(recurrent_param(owner, name + ".weight_hh" + suffix, {4 * hidden, hidden}, hidden,
                                 where)),
      bias_ih_(recurrent_param(owner, name + ".bias_ih" + suffix, {4 * hidden}, hidden, where)),
      bias_hh_(recurrent_param(owner, name + ".bias_hh" + suffix, {4 * hidden}, hidden, where)) {}

LstmState Lstm::operator()(Operand h, Operand c, Operand x) const {
  const Where w = h.where;
  const auto at = [w](const Expr& expr) { return Operand(expr, w); };
  return report_at(w, name_, [&] {
    want_size(h, "the output (first argument)", hidden_, true);
    want_size(c, "the cell (second argument)", hidden_, true);
    want_size(x, "the input (third argument)", in_, true);
    const Operand all = at(affine(x, weight_ih_, bias_ih_, w) + affine(h, weight_hh_, bias_hh_, w));
    const auto gate = [&](int i) { return at(slice(all, i * hidden_, hidden_)); };
    const Operand i = at(sigmoid(gate(0))), f = at(sigmoid(gate(1))), g = at(tanh(gate(2))),
                  o = at(sigmoid(gate(3)));
    const Expr next_c = at(f * at(c.expr)) + at(i * g);
    return LstmState{o * at(tanh(at(next_c))), next_c};
  });
}

Expr Lstm::scan(Operand input, Direction direction) const {
  const Where w = input.where;
  return scry::scan(
      direction, {hidden_, hidden_},
      [&](const std::vector<Expr>& before) {
        LstmState after = (*this)(Operand(before[0], w), Operand(before[1], w), input);
        return std::vector<Expr>{after.h, after.c};
      },
      w)[0];
}

StackedGru::StackedGru(ParamOwner& owner, const std::string& name, int in, int hidden, int layers,
                       Where where)
    : name_("stacked gru '" + name + "'") {
  want_layers(name_, layers, where);
  for (int layer = 0; layer < layers; ++layer) {
    layers_.emplace_back(owner, name, layer_suffix(layer), layer == 0 ? in : hidden, hidden, where);
  }
}

StateSpec StackedGru::state(int hidden, int layers, Where where) {
  StateSpec spec;
  for (int layer = 0; layer < layers; ++layer) {
    spec = spec.and_state(fmt::format("h{}", layer), hidden, where);
  }
  return spec;
}

std::vector<Expr> StackedGru::operator()(const std::vector<Expr>& h, Operand x) const {
  const Where w = x.where;
  return report_at(w, name_, [&] {
    want_states(h.size(), layers_.size());
    std::vector<Expr> next;
    for (size_t i = 0; i < layers_.size(); ++i) {
      next.push_back(layers_[i](Operand(h[i], w), i == 0 ? x : Operand(next.back(), w)));
    }
    return next;
  });
}

State StackedGru::next_state(const State& s, const Operand& x) const {
  std::vector<Expr> h;
  for (size_t i = 0; i < layers_.size(); ++i) h.push_back(s[{fmt::format("h{}", i), x.where}]);
  return state_of((*this)(h, x), x.where);
}

StackedLstm::StackedLstm(ParamOwner& owner, const std::string& name, int in, int hidden, int layers,
                         Where where)
    : name_("stacked lstm '" + name + "'") {
  want_layers(name_, layers, where);
  for (int layer = 0; layer < layers; ++layer) {
    layers_.emplace_back(owner, name, layer_suffix(layer), layer == 0 ? in : hidden, hidden, where);
  }
}

StateSpec StackedLstm::state(int hidden, int layers, Where where) {
  StateSpec spec;
  for (int layer = 0; layer < layers; ++layer) {
    spec = spec.and_state(fmt::format("h{}", layer), hidden, where)
               .and_state(fmt::format("c{}", layer), hidden, where);
  }
  return spec;
}

StackedLstmState StackedLstm::operator()(const std::vector<Expr>& h, const std::vector<Expr>& c,
                                         Operand x) const {
  const Where w = x.where;
  return report_at(w, name_, [&] {
    want_states(h.size(), layers_.size());
    want_states(c.size(), layers_.size());
    StackedLstmState next;
    for (size_t i = 0; i < layers_.size(); ++i) {
      LstmState after =
          layers_[i](Operand(h[i], w), Operand(c[i], w), i == 0 ? x : Operand(next.h.back(), w));
      next.h.push_back(after.h);
      next.c.push_back(after.c);
    }
    return next;
  });
}

State StackedLstm::operator()(const State& s, Operand x) const {
  std::vector<Expr> h, c, interleaved;
  for (size_t i = 0; i < layers_.size(); ++i) {
    h.push_back(s[{fmt::format("h{}", i), x.where}]);
    c.push_back(s[{fmt::format("c{}", i), x.where}]);
  }
  const StackedLstmState next = (*this)(h, c, x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    interleaved.push_back(next.h[i]);
    interleaved.push_back(next.c[i]);
  }
  return state_of(interleaved, x.where);
}

template <typename Cell>
Bidirectional<Cell>::Bidirectional(ParamOwner& owner, const std::string& name, int in, int hidden,
                                   int layers, Where where)
    : name_((std::is_same_v<Cell, Gru> ? "bidirectional gru '" : "bidirectional lstm '") + name +
            "'") {
  want_layers(name_, layers, where);
  for (int layer = 0; layer < layers; ++layer) {
    const int size = layer == 0 ? in : 2 * hidden;
    const std::string suffix = layer_suffix(layer);
    // Braces: the forward cell's parameters come first, as in nn.GRU.
    layers_.push_back({Cell(owner, name, suffix, size, hidden, where),
                       Cell(owner, name, suffix + "_reverse", size, hidden, where)});
  }
}

template <typename Cell>
Expr Bidirectional<Cell>::operator()(Operand input) const {
  const Where w = input.where;
  return report_at(w, name_, [&] {
    Expr value = input.expr;
    for (const Layer& layer : layers_) {
      value = concat({Operand(layer.forward.scan(Operand(value, w), Direction::kLeftToRight), w),
                      Operand(layer.backward.scan(Operand(value, w), Direction::kRightToLeft), w)},
                     w);
    }
    return value;
  });
}

template class Bidirectional<Gru>;
template class Bidirectional<Lstm>;

}  // namespace scry
