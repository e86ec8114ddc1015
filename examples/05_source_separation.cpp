// Lesson 5: a state with structure. Two words were mixed letter by letter, as "foo" and "bar" may
// become "fobaor"; y_t says which of them letter x_t belongs to (sec:sourcesep).
//
// The state is a matrix with a row for each word: the state of a letter language model that has
// read that word so far. A step reads and replaces row y_t alone. Which word a letter belongs to
// shows in the letters that follow, so the lookahead matters.
//
// Words also end. Both alphabets are made with_eos(), so that the model sees every input end with
// x_T = EOS, tagged EOS (fn:eos), where all words must end together: that step's score is the
// log-probability of termination in all of them.
#include <scry.h>
using namespace scry;

struct Mixture : Model {
  int num_words, eos;
  Embedding letter;
  Gru gru;
  Linear next;

  Mixture(const Task& task, int words, int d)
      : Model(task, state("h", {words, d})),
        num_words(words),
        eos(*task.x.eos()),
        letter(*this, "letter", task.x.size(), d),
        gru(*this, "gru", d, d),
        next(*this, "next", d, task.x.size()) {}

  Step step(const State& s, const Input& x, const Sym& y) const override {
    Sym word = y % num_words;  // tags are 0 … J-1, and J is EOS, which belongs to no word
    Expr h = s["h"][word], end = log_softmax(next(s["h"][0]))[eos];
    for (int j = 1; j < num_words; ++j) end = end + log_softmax(next(s["h"][j]))[eos];
    return {.score = select(x == eos, end, log_softmax(next(h))[x]),
            .state = {update_row(s["h"], word, gru(h, letter[x]))}};
  }
};

struct Lookahead : Proposal {
  Embedding letter;
  Gru gru;
  Mlp c;

  Lookahead(const Task& task, int words, int d)
      : Proposal(state("h", d)),
        letter(*this, "letter", task.x.size(), d),
        gru(*this, "gru", d, d),
        c(*this, "c", {(words + 1) * d, d, 1}) {}

  State back(const State& later, const Input& x) const override {
    return {gru(later["h"], letter[x])};
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return c(concat({flatten(s["h"]), later["h"]}))[0];
  }
};

SCRY_MODEL() {
  Alphabet letters = Alphabet::of("a b c d e f g h i j k l m n o p q r s t u v w x y z");
  Task task{letters.with_eos(), Alphabet::of("1 2").with_eos()};
  return {std::make_shared<Mixture>(task, 2, 16), std::make_shared<Lookahead>(task, 2, 16)};
}
