// The lookahead of all five tasks (sec:q, app:model-details): a two-layer right-to-left GRU reads
// the symbols to come, and a four-layer ReLU network judges a candidate state against what it read,
// with the states that the other tags would lead to beside it.
#pragma once
#include <scry.h>

namespace tasks {

using namespace scry;

struct Lookahead : Proposal {
  int num_candidates;
  Embedding emb;
  StackedGru rnn;
  Mlp c;

  /// `e` numbers embed a symbol, `d` are a GRU's state, and `n` the state "h" of the model, of
  /// which `candidates` are looked at.
  Lookahead(const Task& task, int e, int d, int n, int candidates)
      : Proposal(StackedGru::state(d, 2)),
        num_candidates(candidates),
        emb(*this, "emb", task.x.size(), e),
        rnn(*this, "rnn", e, d, 2),
        c(*this, "c", {n + d + candidates * n, d, d, d, 1}) {}

  State back(const State& later, const Input& x) const override { return rnn(later, emb[x]); }

  Expr compat(const State& s, const State& later, const Candidates& all) const override {
    const Expr others = slice_rows(all["h"], 0, num_candidates);
    return c(concat({s["h"], later["h1"], flatten(others)}))[0];
  }
};

}  // namespace tasks
