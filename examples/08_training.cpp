// Lesson 8: training. First the model, from tagged examples: fit() maximizes log p(x, y). Then its
// lookahead, which needs no tags: learn() draws taggings by the lookahead as it is, and moves it
// towards the model by (1-λ) KL(p‖q) + λ KL(q‖p) (sec:optimization).
//
// The task is a small one of lesson 7's kind: a cipher whose key comes last. x is a few letters and
// then a digit, the key; y is each letter shifted by the key, and then the key itself. A sampler
// that does not look ahead guesses the key, and one guess in four is right. Strings are so short
// that all their taggings can be summed: divergences and log Z are exact here.
#include <fmt/format.h>
#include <scry.h>

#include <algorithm>
#include <cmath>

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

constexpr int kLetters = 4;  // and as many keys; symbols and tags have the same numbers

Task make_task() { return {Alphabet::of("a b c d 0 1 2 3"), Alphabet::of("a b c d 0 1 2 3")}; }

/// Strings of 3 to 5 letters and a key, all fair draws by the seed.
std::vector<Example> make_examples(int count, uint64_t seed) {
  std::vector<Example> examples(static_cast<size_t>(count));
  Random random(seed, 0);
  const auto draw = [&](int n) { return static_cast<int>(random.uniform() * n); };
  for (Example& example : examples) {
    const int length = 3 + draw(3), key = draw(kLetters);
    for (int t = 0; t < length; ++t) {
      example.x.push_back(draw(kLetters));
      example.y.push_back((example.x.back() + key) % kLetters);
    }
    example.x.push_back(kLetters + key);
    example.y.push_back(kLetters + key);
  }
  return examples;
}

constexpr int M = 8;  // particles

void promise(bool kept, const char* what) {  // a lesson is a test, too
  if (!kept) throw Error(fmt::format("a promise was broken: {}", what));
}

// What is printed after every epoch, and at the start as epoch 0.
void show_fit(const EpochReport& epoch) {
  fmt::print("  epoch {:2}  perplexity {:8.3f}{}\n", epoch.epoch, epoch.perplexity,
             epoch.is_best ? "  best" : "");
}
void show_learn(const EpochReport& epoch) {
  fmt::print("  epoch {:2}  offset KL {:6.3f} bits  ESS {:3.0f} %{}\n", epoch.epoch,
             to_bits(epoch.offset_kl), 100 * epoch.dev_ess, epoch.is_best ? "  best" : "");
}

/// Averages over strings of what M particles leave, held against all taggings of each string.
struct Quality {
  double kl = 0;           // KL(p̂‖p), bits
  double proposal_kl = 0;  // KL(q‖p), bits, as the particles see it
  double ess = 0;          // in parts of M
  double error = 0;        // root mean square of log Ẑ - log Z
};

// Without resampling, a particle is a draw from q and its weight is exp G_T / q (eq:sis): so the
// mean of log Z - log w is KL(q‖p).
Quality measure(const std::vector<Outcome>& outcomes, std::span<const double> log_z) {
  Quality mean;
  const auto n = static_cast<double>(outcomes.size());
  for (size_t k = 0; k < outcomes.size(); ++k) {
    const Ensemble& e = outcomes[k].value();
    mean.kl += to_bits(kl_divergence(e, log_z[k])) / n;
    for (size_t i = 0; i < e.size(); ++i)
      mean.proposal_kl += e.count(i) * to_bits(log_z[k] - e.particle_log_weight(i)) / M / n;
    mean.ess += e.ess() / M / n;
    mean.error += std::pow(e.log_z - log_z[k], 2) / n;
  }
  mean.error = std::sqrt(mean.error);
  return mean;
}

void run() {
  const Task task = make_task();
  const Program program = compile(PairLm(task, 16), Lookahead(task, 16));
  const std::vector<Example> train = make_examples(2000, 1), dev = make_examples(200, 2),
                             held_out = make_examples(100, 3);

  const Parameters fresh = Parameters::fresh(program, 1);
  TrainOptions options;
  options.epochs = 10;
  options.adam.rate = 5e-3;  // the networks are small
  fmt::print("fit: the model, to {} tagged strings\n", train.size());
  const TrainResult fitted = fit(program, fresh, train, dev, options, {.epoch = show_fit});

  options.lambda = 0.5;
  options.particles = M;
  fmt::print("learn: the lookahead, from strings without tags\n");
  const TrainResult learned =
      learn(program, fitted.parameters, train, dev, options, {.epoch = show_learn});

  std::vector<SampleInput> inputs;
  for (const Example& example : held_out) inputs.emplace_back(example.x);
  std::vector<double> log_z;
  double p_right = 0;  // p(y* | x)
  const std::vector<Outcome> all = exact(program, learned.parameters, inputs);
  for (size_t k = 0; k < all.size(); ++k) {
    log_z.push_back(all[k].value().log_z);
    const auto is_right = [&](auto y) { return std::ranges::equal(y, held_out[k].y) ? 1 : 0; };
    p_right += all[k].ensemble.expectation(is_right) / static_cast<double>(all.size());
  }
  fmt::print(
      "\n{} held-out strings; p(right tagging | x) is {:.3f} on average\n"
      "  {:26}{:>13}{:>13}{:>8}{:>15}\n",
      all.size(), p_right, fmt::format("M = {}", M), "KL(p̂‖p)/bits", "KL(q‖p)/bits", "ESS/M",
      "log Z off by");
  const auto compare = [&](const char* label, const Parameters& parameters, Method method) {
    const Quality mean =
        measure(sample(program, parameters, inputs,
                       {.method = method, .particles = M, .trigger = Trigger::kNever}),
                log_z);
    fmt::print("  {:26}{:>13.3f}{:>13.3f}{:>6.0f} %{:>15.3f}\n", label, mean.kl, mean.proposal_kl,
               100 * mean.ess, mean.error);
    return mean;
  };
  const Quality filtered = compare("filter", fitted.parameters, Method::kFilter);
  const Quality before = compare("smooth, before learning", fitted.parameters, Method::kSmooth);
  const Quality after = compare("smooth, after learning", learned.parameters, Method::kSmooth);

  promise(fitted.history.back().perplexity < fitted.history.front().perplexity / 5,
          "the model is learned");
  promise(p_right > 0.8, "the model knows that a string has one key");
  promise(
      after.proposal_kl < before.proposal_kl / 4 && after.proposal_kl < filtered.proposal_kl / 4,
      "the learned lookahead proposes what the model wants");
  promise(after.kl < before.kl / 2 && after.kl < filtered.kl / 2,
          "so the sample is closer to the model");
  promise(after.ess > 0.8 && filtered.ess < 0.5, "its particles have nearly equal weights");
  promise(after.error < filtered.error / 2, "and log Z is known better");
}

int main() {
  try {
    run();
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
