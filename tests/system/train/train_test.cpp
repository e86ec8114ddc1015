// Training runs on compiled models, against exact answers.
#include "runtime/train/train.h"

#include <scry.h>

#include <cmath>
#include <cstring>

#include "tests/catch.h"
#include "tests/support/exact_divergences.h"
#include "tests/support/learned_oohmm.h"
#include "tests/support/run_kernel.h"
#include "tests/support/small_models.h"
#include "tests/support/temp_folder.h"

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

namespace {
/// With the h that makes it exact where its parameters are the model's (eq:h).
struct BackwardToGo : LearnedBackward {
  using LearnedBackward::LearnedBackward;
  Expr to_go(const State& later, const Input& x) const override {
    const Expr sums =
        matmul(softmax(transition), transpose(softmax(observation))[x] * later["beta"]);
    return log(sum(sums)) + select(x.is_last(), std::log(k), 0.0);  // s̄_T is 1/k and not 1
  }
};
}  // namespace

TEST_CASE("with an h that can be exact, calibrated learning brings q to p and r_t to 0") {
  const Task task = small_task(4, 2);
  const PlainOohmm model(task, 4, 6);
  const BackwardToGo backward(task, 4);
  const Program program = compile(model, backward);
  TrainOptions options;
  options.epochs = 80;
  options.adam.rate = 0.02;
  options.selection = Selection::kKl;
  const std::vector<Example> test = random_inputs(task, 64, 8, 3);
  const TrainResult result =
      learn(program, Parameters::fresh(program, 5), random_inputs(task, 1600, 8, 1),
            random_inputs(task, 64, 8, 2), options);
  const double after = exclusive_bits(program, result.parameters, test);
  const EpochReport &start = result.history.front(), &end = result.history.back();
  INFO("KL(q ‖ p) " << after << " bits, rms r " << start.dev_residual_rms << " → "
                    << end.dev_residual_rms << ", Ĥ_0 " << start.dev_to_go_rmse << " → "
                    << end.dev_to_go_rmse);
  CHECK(after <= 0.005);
  CHECK(end.dev_residual_rms < 0.1 * start.dev_residual_rms);
  CHECK(end.dev_to_go_rmse < 0.1 * start.dev_to_go_rmse);
}

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
      options.epochs = 80;
      options.adam.rate = 0.02;
      options.selection = Selection::kKl;
      options.calibrate = 0;  // the paper's: no linear h is consistent with this C
      options.baseline = Baseline::kAverage;
      const TrainResult result = learn(program, start, train, dev, options);
      const double after = exclusive_bits(program, result.parameters, test);
      INFO(program.differentiator << ", λ = " << lambda << ": " << before << " → " << after
                                  << " bits, ESS " << result.history.back().dev_ess);
      CHECK(before > 0.2);
      // λ = 0 minimizes the other divergence, over a p̂ that 32 particles leave biased.
      CHECK(after <= (lambda == 0 ? 0.1 : 0.05));
    }
  }
}

namespace {
/// With the h that it gets by itself.
struct PlainLookahead : SmallLookahead {
  using SmallLookahead::SmallLookahead;
  Expr to_go(const State& later, const Input& x) const override {
    return Proposal::to_go(later, x);
  }
};

double parameter(const Program& program, const Parameters& parameters, const char* name) {
  return parameters.values.get(find_parameter(program, name).offset);
}
}  // namespace

TEST_CASE("the default h begins with the mean log Z per symbol, if nothing has moved it") {
  const Task task = small_task();
  const SmallTagger model(task);
  const PlainLookahead lookahead(task);
  const Program program = compile(model, lookahead, {.precision = Precision::kDouble});
  const std::vector<Example> train = random_inputs(task, 40, 7, 4),
                             dev = random_inputs(task, 20, 7, 5);
  const Parameters start = Parameters::fresh(program, 2);
  double log_z = 0, symbols = 0;
  for (const Example& example : train) {
    Parameters copy = start;
    log_z += exact_divergences(program, copy, example.x).log_z;
    symbols += static_cast<double>(example.x.size());
  }
  TrainOptions options;
  options.batch = 40;  // all of them are the first minibatch
  options.particles = 500;
  options.epochs = 0;
  const auto bias_of = [&](const Parameters& parameters) {
    return parameter(program, parameters, "proposal.to_go.bias");
  };
  const TrainResult begun = learn(program, start, train, dev, options);
  CHECK(bias_of(start) == 0);
  CHECK(bias_of(begun.parameters) == Approx(log_z / symbols).epsilon(0.01));
  CHECK(begun.history.front().dev_to_go_rmse < 1);
  for (const Block& block : program.params) {
    for (int64_t k = block.offset; k < block.offset + block.shape.size(); ++k) {
      if (block.name != "proposal.to_go.bias")
        CHECK(begun.parameters.values.get(k) == start.values.get(k));
    }
  }
  // Not where the objective leaves h alone, where it is frozen, or where it is known already.
  TrainOptions paper = options;
  paper.calibrate = 0;
  CHECK(bias_of(learn(program, start, train, dev, paper).parameters) == 0);
  TrainOptions frozen = options;
  frozen.frozen = {"proposal.to_go.bias"};
  CHECK(bias_of(learn(program, start, train, dev, frozen).parameters) == 0);
  Parameters moved = start;
  moved.values.set(find_parameter(program, "proposal.to_go.weight").offset + 1, 0.5);
  moved.prepare(program);
  CHECK(bias_of(learn(program, moved, train, dev, options).parameters) == 0);
}

TEST_CASE("calibration makes r_t small, leaves q as near to p, and shows A* the way") {
  const Task task = small_task();
  const SmallTagger model(task, 5, 2);
  const PlainLookahead lookahead(task);
  const Program program = compile(model, lookahead);
  const std::vector<Example> train = random_inputs(task, 400, 8, 1),
                             dev = random_inputs(task, 64, 8, 2);
  Parameters start = Parameters::fresh(program, 5);
  for (int64_t k = 0; k < start.values.size(); ++k) start.values.set(k, 2 * start.values.get(k));
  start.prepare(program);
  TrainOptions options;
  options.epochs = 40;
  options.adam.rate = 0.01;
  options.selection = Selection::kKl;
  options.schedule = RateSchedule::kLinear;
  const TrainResult calibrated = learn(program, start, train, dev, options);
  options.calibrate = 0;
  const TrainResult plain = learn(program, start, train, dev, options);
  const EpochReport &with = calibrated.history.back(), &without = plain.history.back();
  INFO("rms r " << with.dev_residual_rms << " and " << without.dev_residual_rms << ", Ĥ_0 "
                << with.dev_to_go_rmse << " and " << without.dev_to_go_rmse << ", KL "
                << with.dev_kl << " and " << without.dev_kl);
  CHECK(with.dev_residual_rms < 0.25 * without.dev_residual_rms);
  CHECK(with.dev_to_go_rmse < 0.25 * without.dev_to_go_rmse);
  CHECK(with.dev_kl < 1.25 * without.dev_kl);
  CHECK(with.train.residual_rms() > 0);
  CHECK(std::isnan(without.train.residual_rms()));

  int64_t num_rows = 0, num_rows_without = 0;
  double score = 0, score_without = 0;
  for (uint64_t i = 0; i < 20; ++i) {
    const std::vector<int> x = random_input(task, 8, derive_seed(9, static_cast<uint32_t>(i)));
    const Best best = search_best_first(program, calibrated.parameters, {x}),
               other = search_best_first(program, plain.parameters, {x});
    num_rows += best.num_rows;
    num_rows_without += other.num_rows;
    score += best.log_score;
    score_without += other.log_score;
    CHECK_FALSE(best.optimal);
    CHECK(best.why == "the lookahead is learned, so it is no bound");
  }
  INFO("A* extended " << num_rows << " prefixes, and " << num_rows_without
                      << " by an h that is 0; scores " << score << " and " << score_without);
  CHECK(num_rows < 0.25 * static_cast<double>(num_rows_without));
  CHECK(score > score_without - 2);
}

TEST_CASE("training gives the same bits for any number of threads, and after an interruption") {
  const Task task = small_task();
  const SmallTagger model(task);
  const PlainLookahead lookahead(task);
  const Program program = compile(model, lookahead);
  std::vector<Example> examples = random_inputs(task, 150, 7, 4);
  for (Example& example : examples) {
    for (int x : example.x) example.y.push_back(x == 0 ? 1 + x % 2 : x % 3);
  }
  const std::span<const Example> train = std::span(examples).first(120),
                                 dev = std::span(examples).subspan(120);
  using Training = decltype(fit);
  for (Training* const run : {&fit, &learn, &fit_and_learn}) {
    TrainOptions options;
    options.schedule = run == &fit     ? RateSchedule::kConstant
                       : run == &learn ? RateSchedule::kLinear
                                       : RateSchedule::kCosine;
    options.epochs = 2;
    options.particles = 16;
    options.threads = 1;
    const Parameters start = Parameters::fresh(program, 2);
    const TrainResult alone = run(program, start, train, dev, options, {});
    for (const int threads : {2, 5}) {
      options.threads = threads;
      const TrainResult together = run(program, start, train, dev, options, {});
      CHECK(std::memcmp(alone.parameters.values.at(), together.parameters.values.at(),
                        static_cast<size_t>(start.values.size()) * sizeof(float)) == 0);
      CHECK(alone.history.back().dev_score == together.history.back().dev_score);
      CHECK(alone.history.back().train[Tally::kLoss] ==
            together.history.back().train[Tally::kLoss]);
    }
    CHECK(std::memcmp(alone.parameters.values.at(), start.values.at(),
                      static_cast<size_t>(start.values.size()) * sizeof(float)) != 0);

    const TempFolder folder;
    options.checkpoint = folder.file("run.safetensors");
    options.resume = true;
    int num_updates = 0, num_interruptions = 0;
    TrainHooks hooks;
    hooks.should_stop = [&] { return ++num_updates % 3 == 0; };
    TrainResult resumed = run(program, start, train, dev, options, hooks);
    for (; resumed.was_interrupted && num_interruptions < 100; ++num_interruptions)
      resumed = run(program, start, train, dev, options, hooks);
    CHECK(num_interruptions >= 4);
    CHECK(std::memcmp(alone.parameters.values.at(), resumed.parameters.values.at(),
                      static_cast<size_t>(start.values.size()) * sizeof(float)) == 0);
  }
}

// As in app:lastchar, all tags depend on the last symbol.
TEST_CASE("θ and φ learned together: q follows p as it is learned") {
  const Task task = small_task();
  const SmallTagger model(task, 8);
  const SmallLookahead lookahead(task, 8, 8);
  const Program program = compile(model, lookahead);
  std::vector<Example> examples = random_inputs(task, 480, 6, 6);
  for (size_t i = 0; i < examples.size(); ++i) {
    Example& example = examples[i];
    example.x.push_back(i / 6 % 2 == 0 ? 2 : 3);
    example.y.assign(example.x.size(), example.x.back() == 3 ? 1 : 2);
  }
  const std::span<const Example> train = std::span(examples).first(400),
                                 dev = std::span(examples).subspan(400);
  TrainOptions options;
  options.epochs = 40;
  options.adam.rate = 0.02;
  const Parameters start = Parameters::fresh(program, 5);
  // log p(y | x) can be 0. Of log p(x, y), a model that knows the alphabets and that the tag stays
  // has log 8 at the first step and log 4 at the others; more can be known of the last.
  double symbols = 0;
  for (const Example& example : dev) symbols += static_cast<double>(example.x.size());
  const double others = symbols - static_cast<double>(dev.size());
  const double known =
      std::exp((static_cast<double>(dev.size()) * std::log(8) + others * std::log(4)) / symbols);
  for (const Likelihood likelihood : {Likelihood::kJoint, Likelihood::kConditional}) {
    options.likelihood = likelihood;
    const TrainResult result = fit_and_learn(program, start, train, dev, options);
    const EpochReport &before = result.history.front(), &after = result.history.back();
    INFO("perplexity " << before.perplexity << " → " << after.perplexity << ", KL(q ‖ p) "
                       << before.dev_kl << " → " << after.dev_kl << ", ESS " << before.dev_ess
                       << " → " << after.dev_ess);
    CHECK(after.perplexity < (likelihood == Likelihood::kJoint ? known : 1.01));
    // With φ as it was, the same θ would be sampled from badly.
    Parameters left_behind = result.parameters;
    for (const Block& block : program.params) {
      if (block.group != ParamGroup::kProposal) continue;
      for (int64_t k = block.offset; k < block.offset + block.shape.size(); ++k)
        left_behind.values.set(k, start.values.get(k));
    }
    left_behind.prepare(program);
    std::vector<Example> inputs(dev.begin(), dev.end());
    const double with = exclusive_bits(program, result.parameters, inputs),
                 without = exclusive_bits(program, left_behind, inputs);
    INFO("exact KL(q ‖ p): " << with << " bits, without learning φ " << without);
    CHECK(without > 0.1);
    CHECK(with < 0.3 * without);
  }
}
