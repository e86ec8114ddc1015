#include "runtime/train/development.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/support/hand_hmm.h"
#include "tests/support/hmm_examples.h"

using namespace scry;

namespace {

using Offset = DevelopmentDivergence::Offset;

std::vector<TrainExample> spans_of(const std::vector<Example>& examples) {
  std::vector<TrainExample> result;
  for (const Example& example : examples)
    result.push_back({example.x, example.y, static_cast<int64_t>(result.size())});
  return result;
}

/// The exact lookahead: φ = θ.
void make_exact(Parameters& parameters) {
  for (int64_t k = 0; k < 32; ++k) parameters.values.set(32 + k, parameters.values.get(k));
}

EpochReport measure(const Parameters& parameters, Offset offset, int particles = 64) {
  const Program program = test::hand_hmm();
  const std::vector<Example> examples = test::hmm_examples(20, 1);
  const std::vector<TrainExample> dev = spans_of(examples);
  TrainOptions options;
  options.particles = particles;
  options.threads = 1;
  EpochReport report;
  DevelopmentDivergence(program, parameters, dev, options, offset).measure(report);
  return report;
}

/// With workers that are made by a function.
struct ByWorkers : Objective {
  explicit ByWorkers(std::function<std::unique_ptr<ObjectiveWorker>()> make)
      : make(std::move(make)) {}
  std::string name() const override { return "a test's"; }
  ParamGroup group() const override { return ParamGroup::kModel; }
  int shard() const override { return 5; }
  std::unique_ptr<ObjectiveWorker> make_worker(const Program&, const Parameters&) const override {
    return make();
  }
  std::function<std::unique_ptr<ObjectiveWorker>()> make;
};

/// Scores of given numbers.
struct Scored : ObjectiveWorker {
  void add_gradient(std::span<const TrainExample>, uint64_t, double, Gradients&, Tally&) override {}
  void measure(std::span<const TrainExample> examples, uint64_t seed, Tally& tally) override {
    CHECK(seed == development_seed({}));
    for (const TrainExample& example : examples) {
      if (example.number == failing) throw ExampleError(example.number, "no");
      tally.add(Tally::kSequences, 1);
      tally.add(Tally::kSymbols, static_cast<double>(example.x.size()));
      tally.add(Tally::kNegativeLogP, std::log(3.0) * static_cast<double>(example.x.size()));
    }
  }
  int64_t failing = -1;
};

}  // namespace

TEST_CASE("the perplexity is per symbol and the loss per sequence") {
  const Program program = test::hand_hmm();
  const Parameters parameters(program);
  const std::vector<Example> examples = test::hmm_examples(12, 1);  // 42 symbols
  const std::vector<TrainExample> dev = spans_of(examples);
  Workers workers(2);
  int64_t failing = -1;
  const auto make = [&] {
    return std::make_unique<ByWorkers>([&failing] {
      auto worker = std::make_unique<Scored>();
      worker->failing = failing;
      return worker;
    });
  };
  EpochReport report;
  ShardedObjective objective(program, parameters, make(), 0, workers);
  CHECK(measure_likelihood(objective, dev, {}, report) == Approx(std::log(3.0) * 42 / 12));
  CHECK(report.perplexity == Approx(3));

  failing = 7;
  ShardedObjective broken(program, parameters, make(), 0, workers);
  CHECK_THROWS_WITH(measure_likelihood(broken, dev, {}, report), "development example 8: no");
}

namespace {

/// Of 12 examples with 42 symbols, the first has so much more score than log Ẑ, others log 3 a
/// symbol less.
struct Overshooting : ObjectiveWorker {
  explicit Overshooting(double by) : by(by) {}
  void add_gradient(std::span<const TrainExample>, uint64_t, double, Gradients&, Tally&) override {}
  void measure(std::span<const TrainExample> examples, uint64_t, Tally& tally) override {
    for (const TrainExample& example : examples) {
      tally.add(Tally::kSequences, 1);
      tally.add(Tally::kSymbols, static_cast<double>(example.x.size()));
      if (example.number == 0) {
        tally.add(Tally::kOvershot, 1);
        tally.add(Tally::kOvershoot, by);
      } else {
        tally.add(Tally::kNegativeLogP, std::log(3.0) * static_cast<double>(example.x.size()));
      }
    }
  }
  double by;
};

EpochReport measure_overshooting(double by, double& loss) {
  const Program program = test::hand_hmm();
  const Parameters parameters(program);
  const std::vector<Example> examples = test::hmm_examples(12, 1);
  const std::vector<TrainExample> dev = spans_of(examples);
  Workers workers(1);
  ShardedObjective objective(
      program, parameters,
      std::make_unique<ByWorkers>([by] { return std::make_unique<Overshooting>(by); }), 0, workers);
  EpochReport report;
  report.epoch = 3;
  loss = measure_likelihood(objective, dev, {}, report);
  return report;
}

}  // namespace

TEST_CASE("a perplexity is given only where log Z is not known to be more than 1 % too low") {
  double loss = 0;
  const EpochReport good = measure_overshooting(0.4, loss);  // 0.42 of 42 symbols
  CHECK(good.is_reliable);
  CHECK(good.dev_overshot == 1);
  CHECK(good.dev_sequences == 12);
  CHECK(good.perplexity == Approx(std::exp(std::log(3.0) * 41 / 42)).epsilon(1e-12));
  CHECK(loss == Approx(std::log(3.0) * 41 / 12).epsilon(1e-12));
  CHECK(describe_overshoot(good) ==
        "epoch 3: 1 of 12 development sequences have G(y) above the estimated log Z, which is thus "
        "too low: perplexities may be too good; give more particles (-M), a proposal that is "
        "learned along, or normalize the model locally");

  EpochReport bad = measure_overshooting(0.44, loss);
  CHECK_FALSE(bad.is_reliable);
  CHECK(std::isnan(bad.perplexity));
  CHECK(loss == INFINITY);
  bad.train.add(Tally::kSequences, 9);
  bad.train.add(Tally::kOvershot, 2);
  CHECK(describe_overshoot(bad).starts_with(
      "epoch 3: 2 of 9 training and 1 of 12 development sequences have G(y) above the estimated "
      "log Z, which is thus too low: perplexities cannot be trusted; "));
  CHECK(describe_overshoot(EpochReport{}).empty());

  EpochReport rough;
  rough.train.add(Tally::kSequences, 9);
  rough.train.add(Tally::kSymbols, 40);
  rough.train.add(Tally::kOvershot, 2);
  rough.train.add(Tally::kOvershoot, 0.1);
  CHECK(describe_overshoot(rough).starts_with("epoch 0: 2 of 9 training sequences"));
  rough.dev_sequences = 5;
  CHECK(describe_overshoot(rough).empty());
  rough.train.add(Tally::kOvershoot, 1);
  CHECK(describe_overshoot(rough).starts_with("epoch 0: 2 of 9 training sequences"));
}

TEST_CASE("the exact proposal has an offset divergence of about 0, and a wrong one more") {
  const Program program = test::hand_hmm();
  Parameters parameters = Parameters::fresh(program, 3);
  for (int64_t k = 32; k < 64; ++k) parameters.values.set(k, -2 * parameters.values.get(k - 32));
  for (Offset offset : {Offset::kOnce, Offset::kEveryEpoch}) {
    const EpochReport wrong = measure(parameters, offset);
    Parameters exact = parameters;
    make_exact(exact);
    const EpochReport right = measure(exact, offset);
    CHECK(right.dev_ess == Approx(1).epsilon(1e-9));
    CHECK(wrong.dev_ess < 0.9);
    CHECK(right.offset_kl > -0.05);
    CHECK(right.offset_kl < 0.2);  // of 64 particles
    CHECK(wrong.offset_kl > right.offset_kl + 0.02);
    CHECK(right.dev_failed == 0);
  }
}

TEST_CASE("development scores are the same each time, with an offset computed once") {
  const Program program = test::hand_hmm();
  const Parameters parameters = Parameters::fresh(program, 3);
  const std::vector<Example> examples = test::hmm_examples(20, 1);
  const std::vector<TrainExample> dev = spans_of(examples);
  TrainOptions options;
  DevelopmentDivergence divergence(program, parameters, dev, options, Offset::kOnce);
  EpochReport first, second;
  divergence.measure(first);
  divergence.measure(second);
  CHECK(first.offset_kl == second.offset_kl);
  options.threads = 1;
  EpochReport alone;
  DevelopmentDivergence(program, parameters, dev, options, Offset::kOnce).measure(alone);
  CHECK(alone.offset_kl == first.offset_kl);
  CHECK(alone.dev_ess == first.dev_ess);
}

TEST_CASE("sequences without mass are left out and counted; numbers that are none are an error") {
  const Program program = test::hand_hmm();
  Parameters parameters = Parameters::fresh(program, 3);
  make_exact(parameters);
  for (int64_t tag : {0, 1}) parameters.values.set(16 + 3 * tag + 2, -INFINITY);  // x = 2
  const EpochReport report = measure(parameters, Offset::kOnce);
  int num_with_two = 0;
  for (const Example& example : test::hmm_examples(20, 1))
    num_with_two += std::count(example.x.begin(), example.x.end(), 2) > 0 ? 1 : 0;
  CHECK(report.dev_failed == num_with_two);
  CHECK(num_with_two < 20);
  CHECK(std::isfinite(report.offset_kl));

  for (int64_t k = 16; k < 22; ++k) parameters.values.set(k, -INFINITY);
  CHECK_THROWS_AS(measure(parameters, Offset::kEveryEpoch), TrainingError);
  parameters.values.set(16, NAN);
  CHECK_THROWS_AS(measure(parameters, Offset::kOnce), TrainingError);
}
