// Models on which a careless check of gradients goes wrong: stop_gradient everywhere it may stand,
// and most taggings forbidden.
#pragma once
#include "tests/support/small_models.h"

namespace scry::test {

/// Stops gradients in the encoder, in the state, in the score and, beside softmax's own maxima, of
/// a parameter alone.
struct StoppingTagger : Model {
  Embedding symbol;
  BiGru encoder;
  Embedding tag;
  Gru gru;
  Linear next;
  Parameter bias;

  explicit StoppingTagger(const Task& task = small_task(), int d = 3)
      : Model(task, state("h", 2 * d)),
        symbol(*this, "symbol", task.x.size(), d),
        encoder(*this, "encoder", d, d),
        tag(*this, "tag", task.y.size(), 2 * d),
        gru(*this, "gru", 2 * d, 2 * d),
        next(*this, "next", 4 * d, task.y.size()),
        bias(param("bias", {task.y.size()}, Init::normal(1))) {}

  Encoding encode(const Sym& x) const override {
    const Expr e = encoder(symbol[x]);
    return {{"e", e * stop_gradient(sum(e))}};
  }
  State start(const Encoding& encoding) const override { return {tanh(encoding.mean("e"))}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Expr scores = log_softmax(next(concat({s["h"], x.at("e")})) + stop_gradient(bias) * bias);
    return {.score = scores[y] * stop_gradient(1 + sum(s["h"])),
            .state = {gru(stop_gradient(s["h"]) * 0.5 + s["h"] * 0.5, tag[y])}};
  }
};

struct StoppingLookahead : Proposal {
  Embedding symbol;
  Gru gru;
  Mlp c;

  explicit StoppingLookahead(const Task& task = small_task(), int d = 6, int e = 4)
      : Proposal(state("later", e)),
        symbol(*this, "symbol", task.x.size(), e),
        gru(*this, "gru", e, e),
        c(*this, "c", {d + e, 5, 1}) {}

  State back(const State& later, const Input& x) const override {
    return {gru(later["later"], symbol[x]) + stop_gradient(later["later"])};
  }
  Expr to_go(const State& later, const Input& x) const override {
    return sum(later["later"] * stop_gradient(symbol[x]));
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return c(concat({stop_gradient(s["h"]), later["later"]}))[0];
  }
};

/// Only the tag that follows the last one, in a circle, is allowed: one tagging in |Y|^T.
struct CircleModel : Model {
  Parameter weights;
  bool dead;  ///< nothing is allowed at all

  explicit CircleModel(bool dead = false, const Task& task = small_task())
      : Model(task, symbol_state("tag", task.y.size() + 1)),
        weights(param("weights", {task.x.size(), task.y.size()}, Init::normal(1))),
        dead(dead) {}
  State start(const Encoding&) const override { return {task().y.size()}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym last = s.sym("tag");
    const double forbidden = -std::numeric_limits<double>::infinity();
    const Expr score = dead ? select(y == y, forbidden, weights[x][y]) : weights[x][y];
    return {.score = select(last == task().y.size() || (last + 1) % task().y.size() == y, score,
                            forbidden),
            .state = {y}};
  }
};

}  // namespace scry::test
