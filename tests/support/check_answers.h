// Every exact answer that the library gives, against scores that a test works out by itself.
#pragma once
#include <scry.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "runtime/search/exact.h"
#include "runtime/search/search.h"
#include "tests/catch.h"
#include "tests/support/replay.h"
#include "tests/support/taggings.h"

namespace scry::test {

/// G_T of a tagging as users write it, without EOS.
using Oracle = std::function<double(const std::vector<int>& x, const std::vector<int>& y)>;

/// What enumeration says.
struct Answers {
  std::map<std::vector<int>, double> scores;  // above -∞
  double log_z = 0, best = -INFINITY;
  Eigen::MatrixXd marginals;  // [T, |Y|]
};

inline Answers enumerate_plainly(const Task& task, const std::vector<int>& x,
                                 const Oracle& oracle) {
  Answers answers;
  double total = 0;
  answers.marginals.setZero(static_cast<Eigen::Index>(x.size()), task.y.size());
  for (const std::vector<int>& y : all_taggings(task, static_cast<int>(x.size()))) {
    const double score = oracle(x, y);
    if (score == -INFINITY) continue;
    answers.scores[y] = score;
    answers.best = std::max(answers.best, score);
    total += std::exp(score);
    for (size_t t = 0; t < y.size(); ++t)
      answers.marginals(static_cast<Eigen::Index>(t), y[t]) += std::exp(score);
  }
  answers.log_z = std::log(total);
  answers.marginals /= total;
  return answers;
}

inline constexpr double kSameNumber = 1e-9;

/// Each sequence of the ensemble is a tagging of positive probability, with its score.
inline void check_scores(const Ensemble& ensemble, const Answers& answers) {
  for (size_t i = 0; i < ensemble.size(); ++i) {
    const std::vector<int> y(ensemble.sequence(i).begin(), ensemble.sequence(i).end());
    const auto found = answers.scores.find(y);
    REQUIRE(found != answers.scores.end());
    CHECK(std::abs(ensemble.log_scores[i] - found->second) <= kSameNumber);
  }
}

inline void check_whole(const Ensemble& ensemble, const Task& task, const Answers& answers) {
  CHECK(std::abs(ensemble.log_z - answers.log_z) <= kSameNumber);
  CHECK(ensemble.size() == answers.scores.size());
  if (ensemble.length > 0)
    CHECK((ensemble.tag_marginals(task.y.size()) - answers.marginals).cwiseAbs().maxCoeff() <=
          kSameNumber);
  check_scores(ensemble, answers);
}

/// Exact draws are as frequent as they should be: within 5 standard errors.
inline void check_frequencies(const Ensemble& draws, const Task& task, const Answers& answers) {
  const Eigen::ArrayXXd p = answers.marginals.array(),
                        far = (draws.tag_marginals(task.y.size()).array() - p).abs();
  CHECK((far <= 5 * (p * (1 - p) / draws.info.particles).sqrt() + 1e-9).all());
}

/// A program in double precision with lively parameters: no weight is 0 or 1.
struct Compiled {
  Program program;
  Parameters parameters;

  Compiled(const Bundle& bundle, uint64_t seed)
      : program(compile(bundle, {.precision = Precision::kDouble, .gradients = false})),
        parameters(Parameters::fresh(program, seed)) {
    Random random(seed, 77);
    for (int64_t k = 0; k < parameters.values.size(); ++k)
      parameters.values.set(k, 1.3 * parameters.values.get(k) + 0.3 * random.normal());
    parameters.prepare(program);
  }
};

/// Sums over finite states: Z, entropy and marginals of tags and of pairs.
inline void check_sums(const Posterior& posterior, const Task& task, const Answers& answers) {
  double entropy = 0;
  std::vector<Eigen::MatrixXd> pairs(
      static_cast<size_t>(std::max<Eigen::Index>(1, answers.marginals.rows()) - 1),
      Eigen::MatrixXd::Zero(task.y.size(), task.y.size()));
  for (const auto& [y, score] : answers.scores) {
    const double p = std::exp(score - answers.log_z);
    entropy -= p * (score - answers.log_z);
    for (size_t t = 1; t < y.size(); ++t) pairs[t - 1](y[t - 1], y[t]) += p;
  }
  CHECK(std::abs(posterior.log_z() - answers.log_z) <= kSameNumber);
  CHECK(std::abs(posterior.entropy() - entropy) <= kSameNumber);
  const std::vector<RealMatrix<double>> found = posterior.transition_marginals();
  REQUIRE(found.size() == pairs.size());
  for (size_t t = 0; t < pairs.size(); ++t)
    CHECK((found[t] - pairs[t]).cwiseAbs().maxCoeff() <= kSameNumber);
  if (answers.marginals.rows() > 0)
    CHECK((posterior.tag_marginals() - answers.marginals).cwiseAbs().maxCoeff() <= kSameNumber);
}

inline void check_answers(Compiled& model, const std::vector<int>& x, const Oracle& oracle) {
  const Task& task = model.program.task;
  const Answers answers = enumerate_plainly(task, x, oracle);
  Replay replay(model.program, model.parameters);
  for (const std::vector<int>& y : all_taggings(task, static_cast<int>(x.size()))) {
    const double score = replay.run(x, y).log_score;
    const auto found = answers.scores.find(y);
    if (found == answers.scores.end()) {
      CHECK(score == -INFINITY);
    } else {
      CHECK(std::abs(score - found->second) <= kSameNumber);
    }
  }
  check_whole(enumerate(model.program, model.parameters, x), task, answers);
  check_whole(exact(model.program, model.parameters, x), task, answers);
  SampleOptions options{.particles = static_cast<int>(answers.scores.size())};
  check_whole(beam(model.program, model.parameters, x, options), task, answers);
  check_scores(filter(model.program, model.parameters, x, {.particles = 50}), answers);
  if (!has_finite_states(model.program)) return;
  const Best best = viterbi(model.program, model.parameters, x);
  CHECK(std::abs(best.log_score - answers.best) <= kSameNumber);
  CHECK(std::abs(answers.scores.at({best.tags.begin(), best.tags.end()}) - answers.best) <=
        kSameNumber);
  check_sums(*finite_posterior(model.program, model.parameters, x, {}), task, answers);
  check_sums(*exact_posterior(model.program, model.parameters, x), task, answers);
  const std::vector<Best> ranked = k_best(model.program, model.parameters, x, 1 << 20);
  REQUIRE(ranked.size() == answers.scores.size());
  for (size_t i = 0; i < ranked.size(); ++i) {
    CHECK(std::abs(answers.scores.at({ranked[i].tags.begin(), ranked[i].tags.end()}) -
                   ranked[i].log_score) <= kSameNumber);
    if (i > 0) CHECK(ranked[i].log_score <= ranked[i - 1].log_score + kSameNumber);
  }
  const Ensemble draws = sample_finite(model.program, model.parameters, x, {.particles = 5000});
  CHECK(std::abs(draws.log_z - answers.log_z) <= kSameNumber);
  check_scores(draws, answers);
  check_frequencies(draws, task, answers);
}

}  // namespace scry::test
