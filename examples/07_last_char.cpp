// Lesson 7: a task that cannot be done without looking ahead (app:lastchar). x is a word's phonemes
// and then 0 or 1. y is x in lower case if the last symbol is 0, and a copy of x if it is 1: so the
// first tag depends on the last symbol, and a particle that guessed wrong is lost.
//
// The model and the lookahead are lesson 3's, with more tags. Training is where it gets
// interesting: what λ, and how many particles, does the lookahead need to learn which case is
// right? Answer:
//   scripts/reproduce last-char
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
  Task task{
      Alphabet::of("AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH "
                   "T TH UH UW V W Y Z ZH 0 1"),
      Alphabet::of("aa ae ah ao aw ay b ch d dh eh er ey f g hh ih iy jh k l m n ng ow oy p r s sh "
                   "t th uh uw v w y z zh "
                   "AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH "
                   "T TH UH UW V W Y Z ZH 0 1")};
  return {std::make_shared<PairLm>(task, 32), std::make_shared<Lookahead>(task, 32)};
}
