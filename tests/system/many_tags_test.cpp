// 5,000 tags, against exact answers; and small memory, which must not change a bit.
#include <scry.h>

#include <cmath>

#include "runtime/search/search.h"
#include "runtime/smc/memory.h"
#include "runtime/train/train.h"
#include "tests/catch.h"
#include "tests/support/forward_algorithm.h"
#include "tests/support/sampling_methods.h"
#include "tests/support/small_models.h"
#include "tests/support/taggings.h"

using namespace scry;
using namespace scry::test;

namespace {

constexpr int kTags = 5000, kClasses = 8, kSymbols = 6;

/// A hidden Markov model whose state is the class of the last tag, so that the forward algorithm
/// takes no time however many tags there are.
struct ClassHmm : Model {
  Parameter transition, emission;

  ClassHmm()
      : Model({Alphabet::numbered(kSymbols), Alphabet::numbered(kTags)},
              symbol_state("class", kClasses + 1)),
        transition(param("transition", {kClasses + 1, kTags}, Init::normal(2))),
        emission(param("emission", {kTags, kSymbols}, Init::normal(1))) {}

  State start(const Encoding&) const override { return {kClasses}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    return {.score = log_softmax(transition)[s.sym("class")][y] + log_softmax(emission)[y][x],
            .state = {y % kClasses}};
  }
};

/// The exact lookahead.
struct ClassBackward : Proposal {
  const ClassHmm& hmm;
  explicit ClassBackward(const ClassHmm& hmm)
      : Proposal(scry::state("beta", kClasses + 1)), hmm(hmm) {}

  State end() const override { return {ones({kClasses + 1})}; }
  State back(const State& later, const Input& x) const override {
    std::vector<double> members(kTags * kClasses, 0.0);
    for (size_t y = 0; y < kTags; ++y) members[y * kClasses + y % kClasses] = 1;
    const Expr tags =
        matmul(constant({kTags, kClasses}, members), slice(later["beta"], 0, kClasses));
    return {matmul(softmax(hmm.transition), transpose(softmax(hmm.emission))[x] * tags)};
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return log(later["beta"])[s.sym("class")];
  }
};

struct ManyTags {
  ClassHmm model;
  ClassBackward backward{model};
  Program program = compile(model, backward, {.precision = Precision::kDouble, .gradients = false});
  Parameters parameters = Parameters::fresh(program, 1);
  std::vector<int> x{3, 0, 5, 1};
  Eigen::MatrixXd transition = softmax_rows(program, parameters, "model.transition");
  Eigen::MatrixXd emission = softmax_rows(program, parameters, "model.emission");

  double p(int from, int y, int symbol) const { return transition(from, y) * emission(y, symbol); }
  double log_z() const {
    Eigen::RowVectorXd alpha = Eigen::RowVectorXd::Unit(kClasses + 1, kClasses);
    for (int symbol : x) {
      const Eigen::RowVectorXd tags =
          (alpha * transition).cwiseProduct(emission.col(symbol).transpose());
      alpha.setZero();
      for (int y = 0; y < kTags; ++y) alpha(y % kClasses) += tags(y);
    }
    return std::log(alpha.sum());
  }
  /// The best score, by dynamic programming over classes.
  double best_score() const {
    std::vector<double> best(kClasses + 1, -INFINITY);
    best[kClasses] = 0;
    for (int symbol : x) {
      std::vector<double> next(kClasses + 1, -INFINITY);
      for (int from = 0; from <= kClasses; ++from) {
        for (int y = 0; y < kTags; ++y) {
          double& to = next[static_cast<size_t>(y % kClasses)];
          to = std::max(to, best[static_cast<size_t>(from)] + std::log(p(from, y, symbol)));
        }
      }
      best = next;
    }
    return *std::max_element(best.begin(), best.end());
  }
};

/// A tagger over tags alone, as SmallTagger's pairs would be many.
struct WideTagger : Model {
  Embedding tag;
  Gru gru;
  Linear next;

  explicit WideTagger(const Task& task, int d = 6)
      : Model(task, state("h", d)),
        tag(*this, "tag", task.x.size() + task.y.size(), d),
        gru(*this, "gru", d, d),
        next(*this, "next", d, task.y.size()) {}

  Step step(const State& s, const Input& x, const Sym& y) const override {
    return {.score = log_softmax(next(s["h"] + tag[task().y.size() + x]))[y],
            .state = {gru(s["h"], tag[y])}};
  }
};

struct WideLookahead : Proposal {
  Embedding symbol;
  Gru gru;
  Mlp c;

  explicit WideLookahead(const Task& task, int d = 6)
      : Proposal(scry::state("later", d)),
        symbol(*this, "symbol", task.x.size(), d),
        gru(*this, "gru", d, d),
        c(*this, "c", {2 * d, d, 1}) {}

  State back(const State& later, const Input& x) const override {
    return {gru(later["later"], symbol[x])};
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return c(concat({s["h"], later["later"]}))[0];
  }
};

}  // namespace

TEST_CASE("with 5000 tags every method agrees with the forward algorithm") {
  const ManyTags many;
  const double log_z = many.log_z();
  for (int particles : {1, 8, 1000}) {
    for (Method method : {Method::kImportance, Method::kSmooth}) {
      const Ensemble drawn = sample(many.program, many.parameters, {many.x},
                                    {.method = method, .particles = particles});
      CHECK(drawn.log_z == Approx(log_z).epsilon(1e-9));
      for (size_t i = 0; i < drawn.size(); ++i)
        CHECK(drawn.particle_log_weight(i) == Approx(log_z).epsilon(1e-9));
    }
    const Ensemble set = discrete(many.program, many.parameters, many.x, {.particles = particles});
    CHECK(set.log_z == Approx(log_z).epsilon(1e-9));
    CHECK(set.size() == static_cast<size_t>(particles));
    const Ensemble filtered =
        filter(many.program, many.parameters, many.x, {.particles = particles, .seed = 3});
    if (particles == 1000) CHECK(std::abs(filtered.log_z - log_z) < 4 * *filtered.log_z_error);
    const Best best = viterbi(many.program, many.parameters, many.x);
    CHECK(best.log_score == Approx(many.best_score()).epsilon(1e-9));
    for (Method method : {Method::kBeam, Method::kBeamAhead}) {
      const Ensemble beam = sample(many.program, many.parameters, {many.x},
                                   {.method = method, .particles = particles});
      CHECK(beam.size() == static_cast<size_t>(particles));
      CHECK(beam.log_z <= log_z);
      CHECK(beam.log_scores[0] <= best.log_score + 1e-9);
      if (particles == 1000) CHECK(beam.log_scores[0] == Approx(best.log_score).epsilon(1e-12));
    }
  }
  const Ensemble drawn = sample_finite(many.program, many.parameters, many.x, {.particles = 50});
  CHECK(drawn.log_z == Approx(log_z).epsilon(1e-9));
}

TEST_CASE("with 5000 tags only enumeration is limited by its limit") {
  const ManyTags many;
  const std::vector<int> one{2};
  const Ensemble all = enumerate(many.program, many.parameters, one);
  CHECK(all.size() == kTags);
  CHECK_THROWS_WITH(enumerate(many.program, many.parameters, many.x),
                    Catch::Contains("more than 4194304 prefixes to enumerate"));
}

TEST_CASE("with 5000 tags a discrete set that holds too many candidates is refused") {
  const ManyTags many;
  SampleOptions options{.method = Method::kDiscrete, .particles = 2000, .memory = 100'000'000};
  const auto refused = [&] {
    return sample(many.program, many.parameters, std::vector<SampleInput>{many.x}, options)[0]
        .error;
  };
  REQUIRE(refused());
  CHECK(refused()->trouble() == Trouble::kTooMuchMemory);
  CHECK(refused()->message().find("may need about 481 MB") != std::string::npos);
  options.method = Method::kFilter;  // which holds none
  CHECK(!refused());
}

TEST_CASE("with 5000 tags a lookahead is learned, with development examples") {
  const Task task{Alphabet::numbered(4), Alphabet::numbered(kTags)};
  const WideTagger model(task);
  const WideLookahead lookahead(task);
  const Program program = compile(model, lookahead);
  std::vector<Example> examples;
  for (int i = 0; i < 4; ++i) {
    Example& example = examples.emplace_back();
    example.x = random_input(task, 1 + i, static_cast<uint64_t>(i));
    for (size_t t = 0; t < example.x.size(); ++t) example.y.push_back(static_cast<int>(1000 * t));
  }
  TrainOptions options;
  options.epochs = 1;
  options.particles = 4;
  const TrainResult learned =
      learn(program, Parameters::fresh(program, 1), examples, examples, options);
  CHECK(std::isfinite(learned.history.back().offset_kl));
  const TrainResult fitted =
      fit(program, Parameters::fresh(program, 1), examples, examples, options);
  CHECK(std::isfinite(fitted.history.back().perplexity));
}

TEST_CASE("results are the same bits in whatever memory") {
  const Task task{Alphabet::numbered(4), Alphabet::numbered(60)};
  const WideTagger model(task);
  const WideLookahead lookahead(task);
  const Program program = compile(model, lookahead, {.gradients = false});
  Parameters parameters = Parameters::fresh(program, 2);
  for (int64_t k = 0; k < parameters.values.size(); ++k)
    parameters.values.set(k, 3 * parameters.values.get(k));
  parameters.prepare(program);
  std::vector<std::vector<int>> xs;
  for (int i = 0; i < 12; ++i)
    xs.push_back(random_input(task, 1 + i % 5, static_cast<uint64_t>(i)));
  std::vector<SampleInput> inputs;
  for (const std::vector<int>& x : xs) {
    TagSets allowed;
    if (x.size() == 3) {
      allowed = TagSets(3, 60);
      allowed.allow_only(2, {7, 11, 40});
    }
    inputs.emplace_back(x, allowed);
  }
  for (Method method : sampling_methods()) {
    const bool all = row_of(method).selects == Selects::kAll;
    SampleOptions options{.method = method, .particles = 150, .max_rows = all ? 3600 : 1};
    // The candidates of a level take several times as much as all else.
    std::vector<SampleInput> mine;
    double most = 0;
    for (const SampleInput& input : inputs) {
      if (all && input.x.size() > 2) continue;
      mine.push_back(input);
      most = std::max(most, sampling_bytes(program, input, options));
    }
    const auto records = [&](int64_t memory, int threads) {
      options.memory = memory;
      options.threads = threads;
      std::string text;
      for (const Outcome& outcome : sample(program, parameters, mine, options))
        text += to_json(outcome.value(), program.task) + "\n";
      return text;
    };
    const std::string expected = records(0, 1);
    for (const double share : {1.0, 1.5, 4.0, 9.0}) {
      for (const int threads : {1, 3}) {
        INFO("method " << static_cast<int>(method) << ", " << share << ", " << threads);
        CHECK((records(static_cast<int64_t>(share * most) + 1, threads) == expected));
      }
    }
    CHECK(sample(program, parameters, mine,
                 {.method = method, .particles = 150, .max_rows = 3600, .memory = 1000})[0]
              .error->trouble() == Trouble::kTooMuchMemory);
  }
}
