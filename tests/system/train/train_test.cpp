// Training runs on compiled models, against exact answers.
#include "runtime/train/train.h"

#include <scry.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/support/exact_divergences.h"
#include "tests/support/learned_oohmm.h"
#include "tests/support/run_kernel.h"
#include "tests/support/small_models.h"

using namespace scry;
using namespace scry::test;

namespace {

/// Inputs of 1 to `longest` symbols.
std::vector<Example> random_inputs(const Task& task, int count, int longest, uint64_t seed) {
  std::vector<Example> examples;
  for (int i = 0; i < count; ++i) {
    Example& example = examples.emplace_back();
    example.x = random_input(task, 1 + i % longest, derive_seed(seed, static_cast<uint32_t>(i)));
  }
  return examples;
}

/// The mean of KL(q ‖ p) by enumeration, in bits per sequence.
double exclusive_bits(const Program& program, Parameters parameters,
                      const std::vector<Example>& examples) {
  double total = 0;
  for (const Example& example : examples)
    total += exact_divergences(program, parameters, example.x).exclusive;
  return to_bits(total) / static_cast<double>(examples.size());
}

}  // namespace

TEST_CASE("learning the lookahead of an OOHMM, whose exact one is known, brings q to p") {
  const Task task = small_task(4, 2);
  const PlainOohmm model(task, 4, 6);
  const LearnedBackward backward(task, 4);
  const std::vector<Example> train = random_inputs(task, 1600, 8, 1),
                             dev = random_inputs(task, 64, 8, 2),
                             test = random_inputs(task, 64, 8, 3);
  std::vector<Differentiator> differentiators{Differentiator::kAdjoint};
  if (has_enzyme()) differentiators.push_back(Differentiator::kEnzyme);
  for (const Differentiator differentiator : differentiators) {
    const Program program = compile(model, backward, {.differentiator = differentiator});
    const Parameters start = Parameters::fresh(program, 5);
    const double before = exclusive_bits(program, start, test);
    for (const double lambda : {0.0, 0.5, 1.0}) {
      TrainOptions options;
      options.lambda = lambda;
      options.epochs = 30;
      options.adam.rate = 0.02;
      const TrainResult result = learn(program, start, train, dev, options);
      const double after = exclusive_bits(program, result.parameters, test);
      INFO(program.differentiator << ", λ = " << lambda << ": " << before << " → " << after
                                  << " bits, ESS " << result.history.back().dev_ess);
      CHECK(before > 0.2);
      CHECK(after <= 0.05);
    }
  }
}
