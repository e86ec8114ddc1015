// The paper's tagging models (sec:tagging): a GRU language model over pairs of a symbol and its
// tag, log p(x,y) = Σ_t log p(x_t, y_t | s_{t-1}), so that p(x,y) is easy and p(y|x) is not.
#pragma once
#include "lookahead.h"

namespace tasks {

/// With an embedding for every pair.
struct PairLm : Model {
  Embedding emb;
  Gru cell;
  Linear out;

  PairLm(const Task& task, int d)
      : Model(task, state("h", d)),
        emb(*this, "emb", task.x.size() * task.y.size(), d),
        cell(*this, "cell", d, d),
        out(*this, "out", d, task.x.size() * task.y.size()) {}

  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym xy = x * task().y.size() + y;
    return {.score = log_softmax(out(s["h"]))[xy], .state = {cell(s["h"], emb[xy])}};
  }
};

/// With embeddings of the symbol and of the tag, for alphabets with many pairs that are seldom or
/// never seen, and for symbols whose vectors are known from elsewhere. The next pair is still drawn
/// from all of them at once, by one softmax.
struct SymbolAndTagLm : Model {
  Embedding emb, tag;
  Gru cell;
  Linear out;

  SymbolAndTagLm(const Task& task, int e, int d)
      : Model(task, state("h", d)),
        emb(*this, "emb", task.x.size(), e),
        tag(*this, "tag", task.y.size(), d),
        cell(*this, "cell", e + d, d),
        out(*this, "out", d, task.x.size() * task.y.size()) {}

  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym xy = x * task().y.size() + y;
    return {.score = log_softmax(out(s["h"]))[xy],
            .state = {cell(s["h"], concat({emb[x], tag[y]}))}};
  }
};

}  // namespace tasks
