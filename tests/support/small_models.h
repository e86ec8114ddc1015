// Small models with everything in them: a GRU tagger with a lookahead, and one with an encoder.
#pragma once
#include <limits>

#include "dsl/layers.h"
#include "dsl/layers_recurrent.h"
#include "dsl/trace.h"

namespace scry::test {

inline Task small_task(int x = 4, int y = 3) {
  return {Alphabet::numbered(x), Alphabet::numbered(y)};
}

/// p(x, y) of (symbol, tag) pairs. Tag 0 is forbidden on symbol 0.
struct SmallTagger : Model {
  Embedding pair;
  Gru gru;
  Linear next;
  double scale;

  explicit SmallTagger(const Task& task = small_task(), int d = 5, double scale = 1)
      : Model(task, state("h", d).and_symbol("tag", task.y.size())),
        pair(*this, "pair", task.x.size() * task.y.size(), d),
        gru(*this, "gru", d, d),
        next(*this, "next", d, task.x.size() * task.y.size()),
        scale(scale) {}

  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym xy = x * task().y.size() + y;
    const Expr score = log_softmax(next(s["h"]))[xy] * scale;
    return {.score = select((x == 0) && (y == 0), -std::numeric_limits<double>::infinity(), score),
            .state = {gru(s["h"], pair[xy]), y}};
  }
};

struct SmallLookahead : Proposal {
  Embedding symbol;
  Gru gru;
  Mlp c;

  explicit SmallLookahead(const Task& task = small_task(), int d = 5, int e = 6)
      : Proposal(state("later", e)),
        symbol(*this, "symbol", task.x.size(), e),
        gru(*this, "gru", e, e),
        c(*this, "c", {d + e + task.y.size() * d, 7, 1}) {}

  State back(const State& later, const Input& x) const override {
    return {gru(later["later"], symbol[x])};
  }
  Expr to_go(const State& later, const Input& x) const override {
    return sum(later["later"] * symbol[x]);
  }
  Expr compat(const State& s, const State& later, const Candidates& all) const override {
    return c(concat({s["h"], later["later"], flatten(all["h"])}))[0];
  }
};

/// A tagger that attends to an encoding of all of x by a bidirectional GRU.
struct EncoderTagger : Model {
  Embedding symbol;
  BiGru encoder;
  Embedding tag;
  Gru gru;
  Linear next;

  explicit EncoderTagger(const Task& task = small_task(), int d = 4)
      : Model(task, state("h", 2 * d)),
        symbol(*this, "symbol", task.x.size(), d),
        encoder(*this, "encoder", d, d),
        tag(*this, "tag", task.y.size(), 2 * d),
        gru(*this, "gru", 2 * d, 2 * d),
        next(*this, "next", 6 * d, task.y.size()) {}

  Encoding encode(const Sym& x) const override { return {{"e", encoder(symbol[x])}}; }
  State start(const Encoding& encoding) const override { return {tanh(encoding.mean("e"))}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Expr all = x.encoding().all("e");
    const Expr scores = log_softmax(next(concat({s["h"], x.at("e"), attend(s["h"], all, all)})));
    return {.score = scores[y], .state = {gru(s["h"], tag[y])}};
  }
};

}  // namespace scry::test
