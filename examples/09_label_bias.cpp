// Lesson 9: label bias. A locally normalized model decides tag by tag: what it gave to a prefix it
// cannot take back, however badly the prefix fits what comes later. A globally normalized one,
// p(y | x) ∝ exp G_T, can. It has no log-likelihood that is easy to have, so fit() samples: it sets
// the given tagging against draws of a lookahead that it learns along.
//
// The task: x is a few letters and then a digit, the key; every tag says which of three keys it is.
// So the first tag must be right before the key is seen. Both models are the same network, and the
// local one differs by a log_softmax alone. Any local model has -log p(y* | x) of at least log 3 a
// string, on average over strings that come with each key: its first tag is a distribution that
// knows no key. That is proved by the sums below, which are over all taggings.
#include <fmt/format.h>
#include <scry.h>

#include <algorithm>
#include <cmath>

using namespace scry;

constexpr int kKeys = 3, kLetters = 3;

Task make_task() { return {Alphabet::of("a b c 0 1 2"), Alphabet::of("zero one two")}; }

struct Tagger : Model {
  bool is_local;
  Embedding symbol, pair;
  Gru cell;
  Linear out;

  Tagger(const Task& task, int d, bool is_local)
      : Model(task, state("h", d)),
        is_local(is_local),
        symbol(*this, "symbol", task.x.size(), d),
        pair(*this, "pair", task.x.size() * task.y.size(), d),
        cell(*this, "cell", d, d),
        out(*this, "out", 2 * d, task.y.size()) {}

  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Expr scores = out(concat({s["h"], symbol[x]}));
    return {.score = is_local ? log_softmax(scores)[y] : scores[y],
            .state = {cell(s["h"], pair[x * task().y.size() + y])}};
  }
};

struct Lookahead : Proposal {
  Embedding emb;
  Gru cell;
  Mlp c;

  Lookahead(const Task& task, int d)
      : Proposal(state("later", d)),
        emb(*this, "emb", task.x.size(), d),
        cell(*this, "cell", d, d),
        c(*this, "c", {2 * d, d, 1}) {}

  State back(const State& later, const Input& x) const override {
    return {cell(later["later"], emb[x])};
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return c(concat({s["h"], later["later"]}))[0];
  }
};

/// Strings of 2 to 4 letters, each once with every key.
std::vector<Example> make_examples(int count, uint64_t seed) {
  std::vector<Example> examples;
  Random random(seed, 0);
  const auto draw = [&](int n) { return static_cast<int>(random.uniform() * n); };
  while (static_cast<int>(examples.size()) < count) {
    std::vector<int> x(static_cast<size_t>(2 + draw(3)));
    for (int& symbol : x) symbol = draw(kLetters);
    for (int key = 0; key < kKeys; ++key) {
      Example& example = examples.emplace_back();
      example.x = x;
      example.x.push_back(kLetters + key);
      example.y.assign(example.x.size(), key);
    }
  }
  return examples;
}

void promise(bool kept, const char* what) {  // a lesson is a test, too
  if (!kept) throw Error(fmt::format("a promise was broken: {}", what));
}

/// -log p(y* | x), the mean over strings, by all taggings.
double exact_loss(const Program& program, const Parameters& parameters,
                  std::span<const Example> examples) {
  double total = 0;
  for (const Example& example : examples) {
    const Ensemble all = exact(program, parameters, example.x);
    for (size_t i = 0; i < all.size(); ++i) {
      if (std::ranges::equal(all.sequence(i), example.y)) total -= all.model_log_probability(i);
    }
  }
  return total / static_cast<double>(examples.size());
}

/// How much of a sample of 4 is the right tagging.
double share_of_right(const Program& program, const Parameters& parameters,
                      std::span<const Example> examples, Method method) {
  double total = 0;
  for (const Example& example : examples) {
    const Ensemble found = sample(program, parameters, example.x,
                                  {.method = method, .particles = 4, .trigger = Trigger::kNever});
    total +=
        found.expectation([&](auto y) { return std::ranges::equal(y, example.y) ? 1.0 : 0.0; });
  }
  return total / static_cast<double>(examples.size());
}

void run() {
  const Task task = make_task();
  const std::vector<Example> train = make_examples(600, 1), dev = make_examples(90, 2),
                             held_out = make_examples(150, 3);
  TrainOptions options;
  options.epochs = 12;
  options.particles = 16;
  options.adam.rate = 1e-2;  // the networks are small

  const auto fitted = [&](bool is_local, Program& program) {
    program = compile(Tagger(task, 12, is_local), Lookahead(task, 12));
    const auto note = [](const std::string& text) { fmt::print("  {}\n", text); };
    fmt::print("fit: the {} model\n", is_local ? "locally normalized" : "globally normalized");
    return fit(program, Parameters::fresh(program, 1), train, dev, options, {.note = note});
  };
  Program local_program, program;
  const TrainResult local = fitted(true, local_program), global = fitted(false, program);

  const double local_loss = exact_loss(local_program, local.parameters, held_out),
               global_loss = exact_loss(program, global.parameters, held_out);
  fmt::print(
      "\n{} held-out strings, -log p(right tagging | x) in nats, over all taggings\n"
      "  locally normalized  {:.3f}, and log 3 = {:.3f} is the least that any such model can have\n"
      "  globally normalized {:.3f}\n",
      held_out.size(), local_loss, std::log(kKeys), global_loss);
  const double filtered = share_of_right(program, global.parameters, held_out, Method::kFilter),
               smoothed = share_of_right(program, global.parameters, held_out, Method::kSmooth);
  fmt::print(
      "the right tagging's share of 4 particles of the global model\n"
      "  filter                       {:.3f}\n"
      "  smooth, by what fit learned  {:.3f}\n",
      filtered, smoothed);

  promise(local_loss > std::log(kKeys) - 1e-6, "no local model does better than to guess the key");
  promise(local_loss < std::log(kKeys) + 0.1, "this one does hardly worse");
  promise(global_loss < 0.1, "the global one, with the same network, knows");
  // The development perplexity is an estimate by samples; here all taggings tell what it is worth.
  double reported = NAN, num_symbols = 0;
  for (const EpochReport& epoch : global.history) {
    if (epoch.is_best) reported = epoch.perplexity;
  }
  for (const Example& example : dev) num_symbols += static_cast<double>(example.x.size());
  const double loss = exact_loss(program, global.parameters, dev),
               perplexity = std::exp(loss * static_cast<double>(dev.size()) / num_symbols);
  fmt::print("development perplexity {:.4f}, reported as {:.4f}\n", perplexity, reported);
  promise(std::abs(reported / perplexity - 1) < 0.02, "what is reported is true");
  promise(smoothed > 0.9 && smoothed > filtered, "and its lookahead finds what it knows");
}

int main() {
  try {
    run();
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
