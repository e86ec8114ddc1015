// Lesson 5: a state with structure. Two words were mixed letter by letter, as "foo" and "bar" may
// become "fobaor"; y_t says which of them letter x_t belongs to (sec:sourcesep).
//
// The state is a matrix with a row for each word: the state of a letter language model that has
// read that word so far. A step reads and replaces row y_t alone. Which word a letter belongs to
// shows in the letters that follow, so the lookahead matters. (The paper also scores the words'
// ends at x_T = EOS; this lesson leaves that out.)
#include <scry.h>
using namespace scry;

struct Mixture : Model {
  Embedding letter;
  Gru gru;
  Linear next;

  Mixture(const Task& task, int d)
      : Model(task, state("h", {task.y.size(), d})),
        letter(*this, "letter", task.x.size(), d),
        gru(*this, "gru", d, d),
        next(*this, "next", d, task.x.size()) {}

  Step step(const State& s, const Input& x, const Sym& y) const override {
    Expr word = s["h"][y];
    return {.score = log_softmax(next(word))[x],
            .state = {update_row(s["h"], y, gru(word, letter[x]))}};
  }
};

struct Lookahead : Proposal {
  Embedding letter;
  Gru gru;
  Mlp c;

  Lookahead(const Task& task, int d)
      : Proposal(state("h", d)),
        letter(*this, "letter", task.x.size(), d),
        gru(*this, "gru", d, d),
        c(*this, "c", {(task.y.size() + 1) * d, d, 1}) {}

  State back(const State& later, const Input& x) const override {
    return {gru(later["h"], letter[x])};
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return c(concat({flatten(s["h"]), later["h"]}))[0];
  }
};

SCRY_MODEL() {
  Task task{Alphabet::of("a b c d e f g h i j k l m n o p q r s t u v w x y z"),
            Alphabet::of("1 2")};
  return {std::make_shared<Mixture>(task, 16), std::make_shared<Lookahead>(task, 16)};
}
