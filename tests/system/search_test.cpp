// Searches over compiled models, against enumeration by Replay.
#include "runtime/search/search.h"

#include <scry.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/support/lessons.h"
#include "tests/support/replay.h"
#include "tests/support/taggings.h"

using namespace scry;
using namespace scry::test;

namespace {

struct Compiled {
  Program program;
  Parameters parameters;
  double tolerance;

  Compiled(const Bundle& bundle, Precision precision, uint64_t seed = 5)
      : program(compile(bundle, {.precision = precision, .gradients = false, .use_cache = false})),
        parameters(Parameters::fresh(program, seed)),
        tolerance(precision == Precision::kDouble ? 1e-9 : 1e-4) {}

  double score(std::span<const int> x, std::span<const int> y) {
    return Replay(program, parameters).run(x, y).log_score;
  }
};

struct Enumerated {
  double max_score = -INFINITY, log_total = -INFINITY;
};
Enumerated enumerate_all(Compiled& model, std::span<const int> x, const TagSets& allowed = {}) {
  Replay replay(model.program, model.parameters);
  std::vector<double> scores;
  for (const std::vector<int>& y : all_taggings(model.program.task, static_cast<int>(x.size()))) {
    bool is_allowed = true;
    for (size_t t = 0; t < y.size(); ++t)
      is_allowed = is_allowed && allowed.allows(static_cast<int>(t) + 1, y[t]);
    if (is_allowed) scores.push_back(replay.run(x, y).log_score);
  }
  return {*std::max_element(scores.begin(), scores.end()), log_sum_exp(scores)};
}

/// The tagging has the score it claims, which is the maximum.
void check_best(Compiled& model, std::span<const int> x, const Best& best,
                const Enumerated& exact) {
  CHECK(best.optimal);
  CHECK(best.why.empty());
  CHECK(std::abs(best.log_score - exact.max_score) <= model.tolerance);
  CHECK(std::abs(best.log_score - model.score(x, best.tags)) <= model.tolerance);
}

/// Scores depend on the last two tags, kept in two components; a tag may not stand three times in a
/// row.
struct Trigram : Model {
  Parameter weights, emission;

  explicit Trigram(const Task& task)
      : Model(task, symbol_state("before", task.y.size() + 1).and_symbol("tag", task.y.size() + 1)),
        weights(param("weights", {(task.y.size() + 1) * (task.y.size() + 1), task.y.size()},
                      Init::normal(1))),
        emission(param("emission", {task.y.size(), task.x.size()}, Init::normal(1))) {}

  State start(const Encoding&) const override { return {task().y.size(), task().y.size()}; }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    const Sym before = s.sym("before"), tag = s.sym("tag");
    const Expr score = weights[before * (task().y.size() + 1) + tag][y] + emission[y][x];
    return {.score = select(before == y && tag == y, -INFINITY, score), .state = {tag, y}};
  }
};

/// No state at all.
struct Unigram : Model {
  Parameter emission;

  explicit Unigram(const Task& task)
      : Model(task, StateSpec()),
        emission(param("emission", {task.y.size(), task.x.size()}, Init::normal(1))) {}

  State start(const Encoding&) const override { return {}; }
  Step step(const State&, const Input& x, const Sym& y) const override {
    return {.score = emission[y][x], .state = {}};
  }
};

const Task kTask{Alphabet::numbered(4), Alphabet::numbered(3)};
const Precision kPrecisions[] = {Precision::kFloat, Precision::kDouble};

}  // namespace

TEST_CASE("dynamic programming and A* find the best tagging of the HMM, and its Z") {
  for (const Precision precision : kPrecisions) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      Compiled hmm(lesson_01(), precision, seed);
      for (int length = 1; length <= 8; ++length) {
        const std::vector<int> x = random_input(hmm.program.task, length, seed);
        const Enumerated exact = enumerate_all(hmm, x);
        check_best(hmm, x, viterbi(hmm.program, hmm.parameters, {x}), exact);
        check_best(hmm, x, search_best_first(hmm.program, hmm.parameters, {x}), exact);
        const Ensemble draws = sample_finite(hmm.program, hmm.parameters, {x});
        CHECK(std::abs(draws.log_z - exact.log_total) <= hmm.tolerance);
      }
    }
  }
}

TEST_CASE("A* finds the best tagging of the OOHMM, whose states are not finite") {
  for (const Precision precision : kPrecisions) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      Compiled oohmm(lesson_02(), precision, seed);
      CHECK_FALSE(has_finite_states(oohmm.program));
      for (int length = 1; length <= 8; ++length) {
        const std::vector<int> x = random_input(oohmm.program.task, length, seed);
        CHECK_THROWS_WITH(viterbi(oohmm.program, oohmm.parameters, {x}),
                          Catch::Contains("not finite: 'belief'"));
        check_best(oohmm, x, search_best_first(oohmm.program, oohmm.parameters, {x}),
                   enumerate_all(oohmm, x));
      }
    }
  }
}

TEST_CASE("A* finds the best tagging that constraints allow") {
  for (const Bundle& bundle : {lesson_01(), lesson_02()}) {
    Compiled model(bundle, Precision::kDouble);
    for (int length = 1; length <= 8; ++length) {
      const std::vector<int> x = random_input(model.program.task, length, 2);
      TagSets allowed(length, model.program.num_tags());
      for (int step = 1; step <= length; step += 3) allowed.forbid(step, step % 2);
      check_best(model, x, search_best_first(model.program, model.parameters, {x, allowed}),
                 enumerate_all(model, x, allowed));
    }
  }
}

TEST_CASE("a long sequence's best tagging is the same by dynamic programming and by A*") {
  Compiled hmm(lesson_01(), Precision::kDouble);
  const std::vector<int> x = random_input(hmm.program.task, 40, 7);
  const Best best = viterbi(hmm.program, hmm.parameters, {x});
  const Best same = search_best_first(hmm.program, hmm.parameters, {x});
  CHECK(same.optimal);
  CHECK(same.tags == best.tags);
}

TEST_CASE("with an untrained lookahead, A* says that it is heuristic") {
  for (const Bundle& bundle : {lesson_03(), lesson_04(), lesson_05()}) {
    for (const Precision precision : kPrecisions) {
      Compiled model(bundle, precision);
      for (int length = 1; length <= 8; ++length) {
        const std::vector<int> x = random_input(model.program.task, length, 3);
        const Best best = search_best_first(model.program, model.parameters, {x});
        CHECK_FALSE(best.optimal);
        CHECK(best.why == "the lookahead is learned, so it is no bound");
        CHECK(std::abs(best.log_score - model.score(x, best.tags)) <= model.tolerance);
        if (length <= 3)
          CHECK(best.log_score <= enumerate_all(model, x).max_score + model.tolerance);
      }
    }
  }
}

TEST_CASE("dynamic programming merges states of several components") {
  for (const Precision precision : kPrecisions) {
    Compiled trigram({std::make_shared<Trigram>(kTask), nullptr}, precision);
    for (int length = 1; length <= 7; ++length) {
      const std::vector<int> x = random_input(kTask, length, 4);
      const Enumerated exact = enumerate_all(trigram, x);
      const Best best = viterbi(trigram.program, trigram.parameters, {x});
      check_best(trigram, x, best, exact);
      CHECK(best.num_rows == (length == 1 ? 1 : 4 + 9 * (length - 2)));
      const Ensemble draws = sample_finite(trigram.program, trigram.parameters, {x});
      CHECK(std::abs(draws.log_z - exact.log_total) <= trigram.tolerance);
      for (size_t i = 0; i < draws.size(); ++i)
        CHECK(std::abs(draws.log_scores[i] - trigram.score(x, draws.sequence(i))) <=
              trigram.tolerance);
    }
  }
}

TEST_CASE("a model without a state has one state") {
  Compiled unigram({std::make_shared<Unigram>(kTask), nullptr}, Precision::kDouble);
  const std::vector<int> x = random_input(kTask, 6, 5);
  CHECK(has_finite_states(unigram.program));
  const Enumerated exact = enumerate_all(unigram, x);
  const Best best = viterbi(unigram.program, unigram.parameters, {x});
  check_best(unigram, x, best, exact);
  CHECK(best.num_rows == 6);
  CHECK(sample_finite(unigram.program, unigram.parameters, {x}).log_z == Approx(exact.log_total));
}
