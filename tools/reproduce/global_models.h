// Globally normalized models small enough that every tagging can be enumerated, and data for them:
// tags depend on symbols to come.
#pragma once
#include <scry.h>

#include <string>
#include <vector>

#include "runtime/files/examples_file.h"
#include "runtime/kernels/philox.h"

namespace scry::reproduce {

inline constexpr int kSymbols = 5, kTags = 4;

inline Task global_task() { return {Alphabet::numbered(kSymbols), Alphabet::numbered(kTags)}; }

/// y_t is (x_t + x_{t+1}) mod 4, where 0 comes after the last symbol, seven times in ten, and else
/// any tag.
inline std::vector<Example> global_examples(int count, int length, uint64_t seed) {
  std::vector<Example> examples(static_cast<size_t>(count));
  for (size_t i = 0; i < examples.size(); ++i) {
    Random random(seed, static_cast<uint32_t>(i));
    const auto draw = [&](int size) { return static_cast<int>(random.uniform() * size); };
    for (int t = 0; t < length; ++t) examples[i].x.push_back(draw(kSymbols));
    for (size_t t = 0; t < examples[i].x.size(); ++t) {
      const int next = t + 1 < examples[i].x.size() ? examples[i].x[t + 1] : 0;
      examples[i].y.push_back(random.uniform() < 0.7 ? (examples[i].x[t] + next) % kTags
                                                     : draw(kTags));
    }
  }
  return examples;
}

/// A GRU over (symbol, tag) pairs; the scores are any real numbers.
struct GruModel : Model {
  Embedding pair;
  Gru gru;
  Linear score;
  explicit GruModel(int d = 8)
      : Model(global_task(), state("h", d)),
        pair(*this, "pair", kSymbols * kTags, d),
        gru(*this, "gru", d, d),
        score(*this, "score", d, kSymbols * kTags) {}
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym xy = x * kTags + y;
    return {.score = score(s["h"])[xy], .state = {gru(s["h"], pair[xy])}};
  }
};

/// An LSTM with tied weights: what it reads next is scored by the embedding that it is read by.
struct LstmModel : Model {
  Embedding pair;
  Lstm lstm;
  explicit LstmModel(int d = 8)
      : Model(global_task(), state("h", d).and_state("c", d)),
        pair(*this, "pair", kSymbols * kTags, d),
        lstm(*this, "lstm", d, d) {}
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Expr here = pair[x * kTags + y];
    const LstmState next = lstm(s["h"], s["c"], here);
    return {.score = sum(s["h"] * here) * 2.0, .state = {next.h, next.c}};
  }
};

/// Lesson 4's kind: it encodes all of x, attends to it, and scores tags by any real numbers.
struct EncoderModel : Model {
  Embedding word, tag;
  BiGru encoder;
  Linear first, query, score;
  Gru gru;
  explicit EncoderModel(int d = 4)
      : Model(global_task(), state("h", d)),
        word(*this, "word", kSymbols, d),
        tag(*this, "tag", kTags, d),
        encoder(*this, "encoder", d, d),
        first(*this, "first", 2 * d, d),
        query(*this, "query", d, 2 * d),
        score(*this, "score", 5 * d, kTags),
        gru(*this, "gru", d, d) {}
  Encoding encode(const Sym& x) const override { return {{"e", encoder(word[x])}}; }
  State start(const Encoding& encoding) const override { return {tanh(first(encoding.mean("e")))}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Expr all = x.encoding().all("e");
    const Expr context = concat({s["h"], x.at("e"), attend(query(s["h"]), all, all)});
    return {.score = score(context)[y], .state = {gru(s["h"], tag[y])}};
  }
};

/// Tags by the two before them and by how often tag 0 was met, and symbols by the tags at and
/// before them. Its states are finite: tags are counted from 1 there, and 0 is before the first.
struct TableModel : Model {
  static constexpr int kMost = 7;  // of the count
  Parameter tags, symbols, before, count;
  TableModel()
      : Model(
            global_task(),
            symbol_state("one", kTags + 1).and_symbol("two", kTags + 1).and_symbol("count", kMost)),
        tags(param("tags", {(kTags + 1) * (kTags + 1), kTags}, Init::normal(0.1))),
        symbols(param("symbols", {kSymbols, kTags}, Init::normal(0.1))),
        before(param("before", {kSymbols, kTags + 1}, Init::normal(0.1))),
        count(param("count", {kMost, kTags}, Init::normal(0.1))) {}
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym one = s.sym("one"), two = s.sym("two"), met = s.sym("count");
    return {
        .score = tags[two * (kTags + 1) + one][y] + symbols[x][y] + before[x][one] + count[met][y],
        .state = {y + 1, one, min(met + (y == 0), kMost - 1)}};
  }
};

/// A right-to-left GRU over the symbols beside what `read` makes of a state.
class Lookahead : public Proposal {
 public:
  Lookahead(int read_size, Expr (*read)(const State&), int e = 8)
      : Proposal(state("later", e)),
        read_(read),
        symbol_(*this, "symbol", kSymbols, e),
        gru_(*this, "gru", e, e),
        c_(*this, "c", {read_size + e, e, 1}, Activation::kTanh) {}
  State back(const State& later, const Input& x) const override {
    return {gru_(later["later"], symbol_[x])};
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return c_(concat({read_(s), later["later"]}))[0];
  }

 private:
  Expr (*read_)(const State&);
  Embedding symbol_;
  Gru gru_;
  Mlp c_;
};

struct GlobalModel {
  std::string name;
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Proposal> lookahead;
};

inline std::vector<GlobalModel> global_models() {
  const auto hidden = [](const State& s) { return s["h"]; };
  const auto last = [](const State& s) {
    return concat({one_hot(s.sym("one"), kTags + 1), one_hot(s.sym("count"), TableModel::kMost)});
  };
  return {{"GRU", std::make_shared<GruModel>(), std::make_shared<Lookahead>(8, hidden)},
          {"LSTM", std::make_shared<LstmModel>(), std::make_shared<Lookahead>(8, hidden)},
          {"encoder", std::make_shared<EncoderModel>(), std::make_shared<Lookahead>(4, hidden)},
          {"table", std::make_shared<TableModel>(),
           std::make_shared<Lookahead>(kTags + 1 + TableModel::kMost, last)}};
}

}  // namespace scry::reproduce
