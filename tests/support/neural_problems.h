// Neural models with inputs that can be enumerated, and statistics over many runs on them.
#pragma once
#include <scry.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/support/lessons.h"
#include "tests/support/small_models.h"
#include "tests/support/taggings.h"

namespace scry::test {

/// A model, an input that can be enumerated, and the answer.
struct NeuralProblem {
  std::string name;
  Program program;
  Parameters parameters;
  std::vector<int> x;
  Ensemble exact;
};

/// Parameters larger than fresh ones, so that distributions are far from flat.
inline Parameters lively_parameters(const Program& program, uint64_t seed, double scale) {
  Parameters parameters = Parameters::fresh(program, seed);
  for (int64_t k = 0; k < parameters.values.size(); ++k)
    parameters.values.set(k, scale * parameters.values.get(k));
  parameters.prepare(program);
  return parameters;
}

inline NeuralProblem make_problem(std::string name, const Program& program, int length,
                                  double scale) {
  Parameters parameters = lively_parameters(program, 3, scale);
  const std::vector<int> x = random_input(program.task, length, 17);
  const Ensemble exact = enumerate(program, parameters, x);
  return {std::move(name), program, std::move(parameters), x, exact};
}

/// Neural ones, in both precisions: with forbidden tags, with an encoder, globally normalised, and
/// with a structured state.
inline std::vector<NeuralProblem> problems() {
  static const SmallTagger tagger;
  static const SmallLookahead lookahead;
  std::vector<NeuralProblem> all;
  all.push_back(make_problem(
      "small tagger",
      compile(tagger, lookahead, {.precision = Precision::kDouble, .gradients = false}), 5, 2));
  all.push_back(make_problem("lesson 3", compile(lesson_03(), {.gradients = false}), 5, 1.5));
  all.push_back(make_problem("lesson 4", compile(lesson_04(), {.gradients = false}), 5, 1.5));
  all.push_back(make_problem("lesson 5", compile(lesson_05(), {.gradients = false}), 6, 1));
  return all;
}

/// Independent runs on one input: so many seeds, each with so many sequence numbers.
inline std::vector<Outcome> repeat(const NeuralProblem& problem, SampleOptions options, int seeds,
                                   int sequences) {
  const std::vector<SampleInput> inputs(static_cast<size_t>(sequences), SampleInput{problem.x, {}});
  std::vector<Outcome> all;
  for (int seed = 1; seed <= seeds; ++seed) {
    options.seed = static_cast<uint64_t>(seed);
    for (Outcome& outcome : sample(problem.program, problem.parameters, inputs, options))
      all.push_back(std::move(outcome));
  }
  return all;
}

/// Ẑ / Z; a run without mass is 0.
inline double ratio(const Outcome& outcome, double log_z) {
  if (!outcome.error) return std::exp(outcome.ensemble.log_z - log_z);
  REQUIRE(outcome.error->trouble() == Trouble::kNoMass);
  return 0;
}

struct Mean {
  double value = 0, standard_error = 0;
};
inline Mean mean_of(const std::vector<double>& values) {
  double total = 0, squares = 0;
  for (double v : values) total += v;
  const auto n = static_cast<double>(values.size());
  for (double v : values) squares += (v - total / n) * (v - total / n);
  return {total / n, std::sqrt(squares / (n - 1) / n)};
}

}  // namespace scry::test
