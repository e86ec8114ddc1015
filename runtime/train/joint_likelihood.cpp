#include "runtime/train/joint_likelihood.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/train/forest_gradient.h"
#include "runtime/train/given_taggings.h"
#include "runtime/train/training_error.h"

namespace scry {
namespace {

class Worker : public ObjectiveWorker {
 public:
  Worker(const Program& program, const Parameters& parameters, const ObservedSumOptions& options)
      : options_(options),
        observed_(make_observed_sum(program, parameters, options)),
        encoder_(program, parameters),
        taggings_(program, parameters),
        batch_gradient_(program, parameters),
        forest_gradient_(program, parameters, batch_gradient_),
        batch_(program) {}

  void set_memory(int64_t bytes) override { observed_->set_memory(bytes); }
  void add_gradient(std::span<const TrainExample> all, uint64_t seed, double scale,
                    Gradients& gradients, Tally& tally) override {
    const std::span<const TrainExample> examples = select(all);
    if (!incomplete_.empty())
      count(observed_->add_gradient(incomplete_, seed, -scale, gradients), tally);
    if (examples.empty()) return;
    const Recording& given = follow(examples);
    weights_.assign(examples.size(), -scale);
    batch_gradient_.begin(batch_);
    forest_gradient_.add(batch_, given, seed_scores(given, weights_), batch_gradient_, gradients);
    if (const RealBuffer* scores = forest_gradient_.scores()) {
      taggings_.score(batch_, *scores);
    } else {
      taggings_.score(batch_);
    }
    count(given, examples, tally);
    batch_gradient_.finish_model(gradients);
  }
  void measure(std::span<const TrainExample> all, uint64_t seed, Tally& tally) override {
    const std::span<const TrainExample> examples = select(all);
    if (!incomplete_.empty()) count(observed_->measure(incomplete_, seed), tally);
    if (examples.empty()) return;
    follow(examples);
    count(taggings_.score(batch_), examples, tally);
  }

 private:
  /// The complete ones; the others are `incomplete_` then.
  std::span<const TrainExample> select(std::span<const TrainExample> examples) {
    incomplete_ = select_examples(examples, false);
    if (incomplete_.empty()) return examples;
    complete_ = select_examples(examples, true);
    return complete_;
  }

  const Recording& follow(std::span<const TrainExample> examples) {
    inputs_.clear();
    for (const TrainExample& example : examples) inputs_.push_back(example.x);
    encoder_.run(inputs_, false, batch_);
    return taggings_.follow(batch_, examples);
  }

  void count(const Recording& given, std::span<const TrainExample> examples, Tally& tally) {
    taggings_.check(batch_, examples);
    double total = 0;
    for (const Recording::Final& final : given.finals) {
      if (final.log_weight > score_slack(batch_.length(final.sequence)))
        fail_above_one(examples[static_cast<size_t>(final.sequence)], final.log_weight);
      total += std::max(0.0, -final.log_weight);
    }
    tally.add(Tally::kSequences, static_cast<double>(examples.size()));
    tally.add(Tally::kSymbols, static_cast<double>(batch_.num_positions()));
    tally.add(Tally::kNegativeLogP, total);
    tally.add(Tally::kLoss, total);
  }

  /// Of the incomplete ones.
  void count(std::span<const double> log_sums, Tally& tally) const {
    for (size_t s = 0; s < log_sums.size(); ++s) {
      if (log_sums[s] == -INFINITY) {
        tally.add(Tally::kFailed, 1);
        continue;
      }
      const auto length = static_cast<int>(incomplete_[s].x.size());
      if (log_sums[s] > score_slack(length)) fail_above_one(incomplete_[s], log_sums[s]);
      const double loss = std::max(0.0, -log_sums[s]);
      tally.add(Tally::kSequences, 1);
      tally.add(Tally::kSymbols, length);
      tally.add(Tally::kNegativeLogP, loss);
      tally.add(Tally::kLoss, loss);
      if (!options_.is_exact) tally.add(Tally::kEstimated, 1);
    }
  }

  [[noreturn]] static void fail_above_one(const TrainExample& example, double log_score) {
    throw ExampleError(
        example.number,
        fmt::format("its likelihood would be exp({:.4g}), above 1: the model is not locally "
                    "normalized, so G_T is no log-likelihood; fit it by --objective conditional",
                    log_score));
  }

  const ObservedSumOptions options_;
  std::unique_ptr<ObservedSum> observed_;
  std::vector<TrainExample> complete_, incomplete_;
  BatchEncoder encoder_;
  GivenTaggings taggings_;
  BatchGradient batch_gradient_;
  ForestGradient forest_gradient_;
  Batch batch_;
  std::vector<std::span<const int>> inputs_;
  std::vector<double> weights_;
};

class JointLikelihood : public Objective {
 public:
  explicit JointLikelihood(const ObservedSumOptions& options) : options_(options) {}
  std::string name() const override { return "joint likelihood"; }
  ParamGroup group() const override { return ParamGroup::kModel; }
  int shard() const override { return 16; }
  std::unique_ptr<ObjectiveWorker> make_worker(const Program& program,
                                               const Parameters& parameters) const override {
    return std::make_unique<Worker>(program, parameters, options_);
  }

 private:
  ObservedSumOptions options_;
};

}  // namespace

std::unique_ptr<Objective> make_joint_likelihood(const ObservedSumOptions& options) {
  return std::make_unique<JointLikelihood>(options);
}

}  // namespace scry
