// Lesson 4: a conditional model that sees all of x. Chunks of noun phrases (B, I, O) over a
// sentence of part-of-speech tags.
//
// encode() is written for one position and run over all of them: here a BiGRU's output e_t. Then
// start() and step() may look at the encoding anywhere: x.at("e") is e_t, and x.encoding().all("e")
// is the [T, d] matrix of all, for attention. The scores are any real numbers: no softmax, so no
// label bias. Z sums over all taggings (eq:condit), and that is what sampling is for.
#include <scry.h>
using namespace scry;

constexpr int d = 8;

struct Tagger : Model {
  Embedding word, tag;
  BiGru encoder;
  Linear first, query, score;
  Gru gru;

  explicit Tagger(const Task& task)
      : Model(task, state("h", d)),
        word(*this, "word", task.x.size(), d),
        tag(*this, "tag", task.y.size(), d),
        encoder(*this, "encoder", d, d),
        first(*this, "first", 2 * d, d),
        query(*this, "query", d, 2 * d),
        score(*this, "score", 5 * d, task.y.size()),
        gru(*this, "gru", d, d) {}

  Encoding encode(const Sym& x) const override { return {{"e", encoder(word[x])}}; }

  State start(const Encoding& encoding) const override { return {tanh(first(encoding.mean("e")))}; }

  Step step(const State& s, const Input& x, const Sym& y) const override {
    Expr all = x.encoding().all("e");
    Expr context = concat({s["h"], x.at("e"), attend(query(s["h"]), all, all)});
    return {.score = score(context)[y], .state = {gru(s["h"], tag[y])}};
  }
};

struct Lookahead : Proposal {
  Embedding word;
  Gru gru;
  Mlp c;

  explicit Lookahead(const Task& task)
      : Proposal(state("h", d)),
        word(*this, "word", task.x.size(), d),
        gru(*this, "gru", d, d),
        c(*this, "c", {2 * d, d, 1}, Activation::kTanh) {}

  State back(const State& later, const Input& x) const override {
    return {gru(later["h"], word[x])};
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return c(concat({s["h"], later["h"]}))[0];
  }
};

SCRY_MODEL() {
  Task task{Alphabet::of("ADJ ADP DET NOUN PRON PUNCT VERB").with_unknown(), Alphabet::of("B I O")};
  return {std::make_shared<Tagger>(task), std::make_shared<Lookahead>(task)};
}
