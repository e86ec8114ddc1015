// Lesson 3: neural particle smoothing, as in the paper. Which vowels of a word are stressed?
// x is a word's phonemes; y marks each vowel with its stress 0, 1 or 2 and each consonant with "-".
//
// The model is a GRU language model over (phoneme, tag) pairs (sec:tagging). p(x,y) is easy to
// compute and p(y|x) is not: English puts its stresses from the right, so y_t depends on phonemes
// still to come. No exact proposal exists. The lookahead learns one: a two-layer GRU reads the
// phonemes to come, and a four-layer network judges each candidate state against what it read
// (sec:q, app:model-details). As in the paper, it sees all candidate states beside the one it
// judges. It does as well without them: c(concat({s["h"], later["h1"]}))[0], with 2 d inputs
// (docs/samplers.md).
#include <scry.h>
using namespace scry;

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
    Sym xy = x * task().y.size() + y;
    return {.score = log_softmax(out(s["h"]))[xy], .state = {cell(s["h"], emb[xy])}};
  }
};

struct Lookahead : Proposal {
  Embedding emb;
  StackedGru rnn;
  Mlp c;

  Lookahead(const Task& task, int d)
      : Proposal(StackedGru::state(d, 2)),
        emb(*this, "emb", task.x.size(), d),
        rnn(*this, "rnn", d, d, 2),
        c(*this, "c", {d * (2 + task.y.size()), d, d, d, 1}) {}

  State back(const State& later, const Input& x) const override { return rnn(later, emb[x]); }

  Expr compat(const State& s, const State& later, const Candidates& all) const override {
    return c(concat({s["h"], later["h1"], flatten(all["h"])}))[0];
  }
};

SCRY_MODEL() {
  Task task{Alphabet::of("AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P "
                         "R S SH T TH UH UW V W Y Z ZH"),
            Alphabet::of("- 0 1 2")};
  return {std::make_shared<PairLm>(task, 32), std::make_shared<Lookahead>(task, 32)};
}
