// String source separation (sec:sourcesep, app:sourcesep-generation): J strings of one language
// model were mixed symbol by symbol; y_t says which of them symbol x_t belongs to.
//
// The state is that of J language models side by side; a step scores x_t by that of string y_t, and
// moves it alone. The last input is EOS, which scores the end of all J strings together.
//
// `alone`, it is the language model of single strings, all of whose tags are the first: what θ is
// fitted to. Tags and parameters are the same either way, so the mixture takes what was fitted.
#pragma once
#include "lookahead.h"

namespace tasks {

struct Mixture : Model {
  int num_strings, d;
  int eos, eos_tag;
  Embedding emb;
  Gru cell;
  Linear out;

  Mixture(const Task& task, int strings, int e, int d)
      : Model(task, state("h", strings * d)),
        num_strings(strings),
        d(d),
        eos(*task.x.eos()),
        eos_tag(*task.y.eos()),
        emb(*this, "emb", task.x.size(), e),
        cell(*this, "cell", e, d),
        out(*this, "out", d, task.x.size()) {}

  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Expr h = reshape(s["h"], {num_strings, d});
    std::vector<Expr> here;
    Expr end = constant(Shape{}, {0.0});
    for (int j = 0; j < num_strings; ++j) {
      const Expr log_p = log_softmax(out(h[j]));
      here.push_back(log_p[x]);
      end = end + log_p[eos];
    }
    const Sym string = min(y, num_strings - 1);  // others have score -inf, and EOS is beyond them
    const Expr next = select(y < num_strings, concat(here)[string], -INFINITY);
    return {.score = select(x == eos && y == eos_tag, end, next),
            .state = {flatten(update_row(h, string, cell(h[string], emb[x])))}};
  }
};

/// The model of a file with these settings; of single strings, without a lookahead.
inline Bundle make_mixture(Settings& settings, int strings, int e) {
  const int num_strings = settings.number("J", strings, "strings that are mixed");
  const int d = settings.number("d", 32, "units of every GRU");
  const int size = settings.number("e", e, "numbers that embed a symbol");
  const bool alone = settings.number("alone", 0, "1 for the language model of one string") != 0;
  std::vector<std::string> tags;
  for (int j = 1; j <= num_strings; ++j) tags.push_back(std::to_string(j));
  const Task task{Alphabet::from_file(settings.file("vocab", "", "symbols, one a line"))
                      .with_unknown()
                      .with_eos(),
                  Alphabet(tags).with_eos()};
  if (alone) return {std::make_shared<Mixture>(task, 1, size, d)};
  return {std::make_shared<Mixture>(task, num_strings, size, d),
          std::make_shared<Lookahead>(task, size, d, num_strings * d, num_strings)};
}

}  // namespace tasks
