// Scores, log Z, marginals and best taggings of neural and finite models, against enumeration in
// plain arithmetic (plain_models.h).
#include <scry.h>

#include <limits>

#include "tests/catch.h"
#include "tests/support/check_answers.h"
#include "tests/support/plain_models.h"

using namespace scry;
using namespace scry::test;

namespace {

constexpr int kX = 4, kY = 3, kSize = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Task make_task() { return {Alphabet::numbered(kX), Alphabet::numbered(kY)}; }

/// Makes the oracle for given parameters.
using MakeOracle = std::function<Oracle(const Program&, const Parameters&)>;

void check_model(const std::shared_ptr<Model>& model, const MakeOracle& make_oracle) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Compiled compiled({model, nullptr}, seed);
    const Oracle oracle = make_oracle(compiled.program, compiled.parameters);
    for (int length = 1; length <= 5; ++length) {
      INFO("seed " << seed << ", length " << length);
      check_answers(compiled, random_input(compiled.program.task, length, seed), oracle);
    }
  }
}

/// The state is the last two tags. Tag 1 may not follow itself, tag 2 not stand on symbol 3, and no
/// tag stands three times in a row.
struct TwoTags : Model {
  Parameter weights, emission;
  TwoTags()
      : Model(make_task(), symbol_state("before", kY + 1).and_symbol("tag", kY + 1)),
        weights(param("weights", {(kY + 1) * (kY + 1), kY}, Init::normal(1))),
        emission(param("emission", {kY, kX}, Init::normal(1))) {}

  State start(const Encoding&) const override { return {kY, kY}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym before = s.sym("before"), tag = s.sym("tag");
    const Expr score = weights[before * (kY + 1) + tag][y] + emission[y][x];
    const Sym forbidden = (y == 1 && tag == 1) || (y == 2 && x == 3) || (before == y && tag == y);
    return {.score = select(forbidden, -INFINITY, score), .state = {tag, y}};
  }
};

/// The tags' vectors are read as inputs, and score tags as outputs, too.
struct Tied : Model {
  Embedding tag, symbol;
  Linear next;
  Tied()
      : Model(make_task(), state("h", kSize)),
        tag(*this, "tag", kY, kSize),
        symbol(*this, "symbol", kX, kSize),
        next(*this, "next", kSize, kSize) {}

  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Expr here = tanh(s["h"] + symbol[x]);
    return {.score = log_softmax(matmul(tag.table(), here))[y],
            .state = {tanh(next(here) + tag[y])}};
  }
};

/// Not normalized: an LSTM over pairs, whose output goes through a layer norm.
struct NormedLstm : Model {
  Embedding pair;
  Lstm lstm;
  LayerNorm norm;
  Linear out;
  NormedLstm()
      : Model(make_task(), state("h", kSize).and_state("c", kSize)),
        pair(*this, "pair", kX * kY, kSize),
        lstm(*this, "lstm", kSize, kSize),
        norm(*this, "norm", kSize),
        out(*this, "out", kSize, kX * kY) {}

  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym xy = x * kY + y;
    const LstmState next = lstm(s["h"], s["c"], pair[xy]);
    return {.score = out(norm(s["h"] + next.h))[xy], .state = {next.h, next.c}};
  }
};

/// Attends to an encoding of all of x by a bidirectional GRU.
struct Attending : Model {
  Embedding symbol, tag;
  BiGru encoder;
  Gru gru;
  Linear next;
  Attending()
      : Model(make_task(), state("h", 2 * kSize)),
        symbol(*this, "symbol", kX, kSize),
        tag(*this, "tag", kY, 2 * kSize),
        encoder(*this, "encoder", kSize, kSize),
        gru(*this, "gru", 2 * kSize, 2 * kSize),
        next(*this, "next", 6 * kSize, kY) {}

  Encoding encode(const Sym& x) const override { return {{"e", encoder(symbol[x])}}; }
  State start(const Encoding& encoding) const override { return {tanh(encoding.mean("e"))}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Expr all = x.encoding().all("e");
    const Expr scores = log_softmax(next(concat({s["h"], x.at("e"), attend(s["h"], all, all)})));
    return {.score = scores[y], .state = {gru(s["h"], tag[y])}};
  }
};

}  // namespace

TEST_CASE("plain enumeration agrees where two tags are the state and tags are forbidden") {
  check_model(std::make_shared<TwoTags>(), [](const Program& program, const Parameters& values) {
    const Mat weights = weights_of(program, values, "model.weights"),
              emission = weights_of(program, values, "model.emission");
    return [=](const std::vector<int>& x, const std::vector<int>& y) {
      double total = 0;
      int before = kY, tag = kY;
      for (size_t t = 0; t < x.size(); ++t) {
        if (y[t] == 1 && tag == 1) return -kInfinity;
        if (y[t] == 2 && x[t] == 3) return -kInfinity;
        if (before == y[t] && tag == y[t]) return -kInfinity;
        total += weights(before * (kY + 1) + tag, y[t]) + emission(y[t], x[t]);
        before = tag;
        tag = y[t];
      }
      return total;
    };
  });
}

TEST_CASE("plain enumeration agrees where weights are tied") {
  check_model(std::make_shared<Tied>(), [](const Program& program, const Parameters& values) {
    const Mat tag = weights_of(program, values, "model.tag.weight"),
              symbol = weights_of(program, values, "model.symbol.weight");
    const PlainLinear next(program, values, "model.next");
    return [=](const std::vector<int>& x, const std::vector<int>& y) {
      double total = 0;
      Vec h(kSize, 0.0);
      for (size_t t = 0; t < x.size(); ++t) {
        const Vec here = tanh_of(plus(h, symbol.row(x[t])));
        total += log_softmax_of(times(tag, here))[at(y[t])];
        h = tanh_of(plus(next(here), tag.row(y[t])));
      }
      return total;
    };
  });
}

TEST_CASE("plain enumeration agrees with an LSTM and a layer norm") {
  check_model(std::make_shared<NormedLstm>(), [](const Program& program, const Parameters& values) {
    const Mat pair = weights_of(program, values, "model.pair.weight");
    const PlainCell cell(program, values, "model.lstm");
    const PlainLayerNorm norm(program, values, "model.norm");
    const PlainLinear out(program, values, "model.out");
    return [=](const std::vector<int>& x, const std::vector<int>& y) {
      double total = 0;
      Vec h(kSize, 0.0), c(kSize, 0.0);
      for (size_t t = 0; t < x.size(); ++t) {
        const int xy = x[t] * kY + y[t];
        const Vec before = h;
        cell.lstm(h, c, pair.row(xy));
        total += out(norm(plus(before, h)))[at(xy)];
      }
      return total;
    };
  });
}

TEST_CASE("plain enumeration agrees with attention to an encoding of the whole input") {
  check_model(std::make_shared<Attending>(), [](const Program& program, const Parameters& values) {
    const Mat symbol = weights_of(program, values, "model.symbol.weight"),
              tag = weights_of(program, values, "model.tag.weight");
    const PlainCell forward(program, values, "model.encoder", "_l0"),
        backward(program, values, "model.encoder", "_l0_reverse"),
        gru(program, values, "model.gru");
    const PlainLinear next(program, values, "model.next");
    return [=](const std::vector<int>& x, const std::vector<int>& y) {
      std::vector<Vec> left(x.size()), right(x.size()), all;
      Vec h(kSize, 0.0);
      for (size_t t = 0; t < x.size(); ++t) left[t] = h = forward.gru(h, symbol.row(x[t]));
      h.assign(kSize, 0.0);
      for (size_t t = x.size(); t-- > 0;) right[t] = h = backward.gru(h, symbol.row(x[t]));
      Vec mean(2 * kSize, 0.0);
      for (size_t t = 0; t < x.size(); ++t) {
        all.push_back(joined(left[t], right[t]));
        for (size_t k = 0; k < mean.size(); ++k)
          mean[k] += all[t][k] / static_cast<double>(x.size());
      }
      Vec s = tanh_of(mean);
      double total = 0;
      for (size_t t = 0; t < x.size(); ++t) {
        const Vec seen = joined(joined(s, all[t]), attend_plainly(s, all));
        total += log_softmax_of(next(seen))[at(y[t])];
        s = gru.gru(s, tag.row(y[t]));
      }
      return total;
    };
  });
}
