// Sequences that end with EOS (fn:eos): a finite model with an exact lookahead, and the source
// separator, against enumeration in plain arithmetic.
#include <scry.h>

#include <Eigen/Core>
#include <limits>
#include <set>

#include "runtime/train/check.h"
#include "runtime/train/train.h"
#include "tests/catch.h"
#include "tests/support/check_answers.h"
#include "tests/support/lessons.h"
#include "tests/support/plain_models.h"
#include "tests/support/replay.h"
#include "tests/support/sampling_methods.h"

using namespace scry;
using namespace scry::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// EOS is neither the last symbol nor the last tag, so that nothing can count on it.
Task make_task() {
  return {Alphabet::of("a b").with_eos("$").with_unknown(),
          Alphabet::of("A").with_eos("$END").with_unknown("B")};
}
constexpr int kX = 4, kY = 3, kEndX = 2, kEndY = 1;

/// Transitions and emissions; the last row of the former is the start's.
struct Bigram : Model {
  Parameter weights, emission;
  Bigram()
      : Model(make_task(), symbol_state("tag", kY + 1)),
        weights(param("weights", {kY + 1, kY}, Init::normal(1))),
        emission(param("emission", {kX, kY}, Init::normal(1))) {}
  State start(const Encoding&) const override { return {kY}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    return {.score = weights[s.sym("tag")][y] + emission[x][y], .state = {y}};
  }
};

/// H_t of each last tag (eq:H), by the model's own weights.
struct ExactLookahead : Proposal {
  const Bigram& model;
  explicit ExactLookahead(const Bigram& model) : Proposal(state("to_go", kY + 1)), model(model) {}
  State back(const State& later, const Input& x) const override {
    const Expr at_end = constant({-kInfinity, 0, -kInfinity}),
               before_end = constant({0, -kInfinity, 0});
    const Expr tags =
        model.emission[x] + slice(later["to_go"], 0, kY) + select(x == kEndX, at_end, before_end);
    return {logsumexp(model.weights.expr() + tags)};
  }
  Expr compat(const State& s, const State& later, const Candidates&) const override {
    return later["to_go"][s.sym("tag")];
  }
};

Bundle bigram() {
  auto model = std::make_shared<Bigram>();
  return {model, std::make_shared<ExactLookahead>(*model)};
}

Oracle bigram_oracle(const Program& program, const Parameters& parameters) {
  const Mat weights = weights_of(program, parameters, "model.weights"),
            emission = weights_of(program, parameters, "model.emission");
  return [=](const std::vector<int>& x, const std::vector<int>& y) {
    double total = 0;
    int tag = kY;
    for (size_t t = 0; t < x.size(); ++t) {
      total += weights(tag, y[t]) + emission(x[t], y[t]);
      tag = y[t];
    }
    return total + weights(tag, kEndY) + emission(kEndX, kEndY);
  };
}

std::string failure(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a model scores the end of every sequence, the empty one's too") {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Compiled model(bigram(), seed);
    const Oracle oracle = bigram_oracle(model.program, model.parameters);
    for (int length = 0; length <= 5; ++length) {
      INFO("seed " << seed << ", length " << length);
      check_answers(model, random_input(model.program.task, length, seed), oracle);
    }
  }
}

TEST_CASE("the lookahead reads the end first: an exact one gives every particle the weight Z") {
  Compiled model(bigram(), 4);
  const Oracle oracle = bigram_oracle(model.program, model.parameters);
  for (int length = 0; length <= 6; ++length) {
    const std::vector<int> x = random_input(model.program.task, length, 9);
    const Answers answers = enumerate_plainly(model.program.task, x, oracle);
    for (const Method method : {Method::kSmooth, Method::kImportance}) {
      const Ensemble drawn =
          sample(model.program, model.parameters, x, {.method = method, .particles = 200});
      CHECK(drawn.length == length);
      CHECK(drawn.steps.size() == static_cast<size_t>(length) + 1);
      check_scores(drawn, answers);
      for (size_t i = 0; i < drawn.size(); ++i)
        CHECK(std::abs(drawn.particle_log_weight(i) - answers.log_z) <= kSameNumber);
    }
    const Best best = search_best_first(model.program, model.parameters, x);
    CHECK(best.optimal);
    CHECK(best.tags.size() == x.size());
    CHECK(std::abs(best.log_score - answers.best) <= kSameNumber);
  }
}

TEST_CASE("the end is nobody's tag but its own, whatever the method") {
  Compiled model(lesson_05(), 2);
  const Task& task = model.program.task;
  const std::vector<int> x = random_input(task, 8, 1);
  for (const Method method : sampling_methods()) {
    const Ensemble drawn =
        sample(model.program, model.parameters, x, {.method = method, .particles = 300});
    CHECK(drawn.length == 8);
    CHECK(std::set<int>(drawn.tags.begin(), drawn.tags.end()) == std::set<int>{0, 1});
    CHECK(drawn.tag_marginals(task.y.size()).col(*task.y.eos()).isZero(0));
    CHECK(to_json(drawn, task).find("eos") == std::string::npos);
  }
}

TEST_CASE("an input that ends with EOS already is not extended") {
  Compiled model(bigram(), 5);
  const std::vector<int> x{0, 1, 0}, ended{0, 1, 0, kEndX};
  const std::vector<int> y{0, 2, 2}, ended_y{0, 2, 2, kEndY};
  const Ensemble all = enumerate(model.program, model.parameters, x);
  const Ensemble same = enumerate(model.program, model.parameters, ended);
  CHECK(same.tags == all.tags);
  CHECK(same.log_z == all.log_z);
  Replay replay(model.program, model.parameters);
  const double score = replay.run(x, y).log_score;
  CHECK(replay.run(ended, y).log_score == score);
  CHECK(replay.run(x, ended_y).log_score == score);
  CHECK(replay.run(ended, ended_y).log_score == score);
  CHECK(viterbi(model.program, model.parameters, ended).tags ==
        viterbi(model.program, model.parameters, x).tags);
}

TEST_CASE("EOS before the end is an error that names the step") {
  Compiled model(bigram(), 5);
  const std::vector<int> x{0, kEndX, 1};
  const std::string early = "'$' ends a sequence and cannot stand before its end";
  const auto sampled = [&](auto run) {
    return failure([&] { run(model.program, model.parameters, x); });
  };
  CHECK(sampled([](auto&... a) { enumerate(a...); }) == "sequence 1, step 2: " + early);
  CHECK(sampled([](auto&... a) { exact(a...); }) == "sequence 1, step 2: " + early);
  CHECK(sampled([](auto&... a) { viterbi(a...); }) == "sequence 1, step 2: " + early);
  CHECK(sampled([](auto&... a) { search_best_first(a...); }) == "sequence 1, step 2: " + early);
  TaggingScorer scorer(model.program, model.parameters);
  CHECK(failure([&] { scorer.score(x, std::vector{0, 0, 0}); }) == "step 2: " + early);
  CHECK(failure([&] {
          scorer.score(std::vector{0, 1}, std::vector{kEndY, 0});
        }) == "step 1: '$END' ends a sequence and cannot stand before its end");
  CHECK(failure([&] {
          scorer.score(std::vector{0, 1}, std::vector{0, kEndY});
        }) == "2 symbols but 1 tags");
}

TEST_CASE("constraints are written for the sequence without its end") {
  Compiled model(bigram(), 6);
  const Oracle oracle = bigram_oracle(model.program, model.parameters);
  const std::vector<int> x{0, 1, 0};
  TagSets allowed(3, kY);
  allowed.allow_only(2, {2});
  const Answers answers = enumerate_plainly(
      model.program.task, x, [&](const std::vector<int>& symbols, const std::vector<int>& y) {
        return y[1] == 2 ? oracle(symbols, y) : -kInfinity;
      });
  check_whole(enumerate(model.program, model.parameters, {x, allowed}), model.program.task,
              answers);
  check_whole(exact(model.program, model.parameters, {x, allowed}), model.program.task, answers);
  CHECK(std::abs(viterbi(model.program, model.parameters, {x, allowed}).log_score - answers.best) <=
        kSameNumber);
  allowed.allow_only(2, {kEndY});
  CHECK(failure([&] {
          enumerate(model.program, model.parameters, {x, allowed});
        }) == "sequence 1, step 2: every tag is forbidden");
  CHECK(failure([&] {
          enumerate(model.program, model.parameters, {x, TagSets(2, kY)});
        }) == "sequence 1: 3 symbols and 3 tags, but constraints for 2 and 3");
}

TEST_CASE("the source separator's words end where the input does") {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    Compiled model(lesson_05(), seed);
    const Program& program = model.program;
    const Mat letter = weights_of(program, model.parameters, "model.letter.weight");
    const PlainCell gru(program, model.parameters, "model.gru");
    const PlainLinear next(program, model.parameters, "model.next");
    const size_t end = at(*program.task.x.eos());
    const Oracle oracle = [&](const std::vector<int>& x, const std::vector<int>& y) {
      std::vector<Vec> words(2, Vec(at(letter.cols), 0.0));
      double total = 0;
      for (size_t t = 0; t < x.size(); ++t) {
        Vec& word = words[at(y[t])];
        total += log_softmax_of(next(word))[at(x[t])];
        word = gru.gru(word, letter.row(x[t]));
      }
      for (const Vec& word : words) total += log_softmax_of(next(word))[end];
      return total;
    };
    for (int length = 0; length <= 5; ++length) {
      INFO("seed " << seed << ", length " << length);
      check_answers(model, random_input(program.task, length, seed), oracle);
    }
  }
}

TEST_CASE("training follows sequences to their end") {
  const Program program = compile(lesson_05(), {.precision = Precision::kDouble});
  const Parameters start = Parameters::fresh(program, 1);
  std::vector<Example> examples;
  for (int length = 0; length < 4; ++length) {
    examples.push_back({random_input(program.task, length, 3),
                        random_tagging(program.task, length, 3), "", "", length + 1});
  }
  double total = 0, num_symbols = 0;
  Parameters same = start;
  Replay replay(program, same);
  for (const Example& example : examples) {
    total -= replay.run(example.x, example.y).log_score;
    num_symbols += static_cast<double>(example.x.size()) + 1;
  }
  TrainOptions options{.likelihood = Likelihood::kJoint, .particles = 8, .epochs = 1};
  const TrainResult fitted = fit(program, start, examples, examples, options);
  CHECK(std::abs(fitted.history[0].perplexity - std::exp(total / num_symbols)) < 1e-9);
  CHECK(fitted.history[1].perplexity < fitted.history[0].perplexity);
  const TrainResult learned = learn(program, fitted.parameters, examples, examples, options);
  CHECK(std::isfinite(learned.history[1].dev_kl));
  options.likelihood = Likelihood::kConditional;
  CHECK(fit_and_learn(program, start, examples, examples, options).history.size() == 2);

  examples[3].y[1] = *program.task.y.eos();
  CHECK(failure([&] { fit(program, start, examples, {}, options); }) ==
        "example 4: step 2: '<eos>' ends a sequence and cannot stand before its end");
}

TEST_CASE("gradients are right where sequences end with EOS") {
  const Program program = compile(lesson_05(), {.precision = Precision::kDouble});
  for (int length = 1; length <= 3; ++length) {
    for (const GradientCheckRow& row : check_gradients(program, length, 1)) {
      INFO(row.quantity << ", " << row.worst_parameter << ": " << row.worst_error);
      CHECK(row.ok);
    }
  }
}
