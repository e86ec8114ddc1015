#include "runtime/train/joint_likelihood.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/train/forest_gradient.h"
#include "runtime/train/given_taggings.h"
#include "runtime/train/training_error.h"

namespace scry {
namespace {

class Worker : public ObjectiveWorker {
 public:
  Worker(const Program& program, const Parameters& parameters)
      : encoder_(program, parameters),
        taggings_(program, parameters),
        batch_gradient_(program, parameters),
        forest_gradient_(program, parameters, batch_gradient_),
        batch_(program) {}

  void add_gradient(std::span<const TrainExample> examples, uint64_t, double scale,
                    Gradients& gradients, Tally& tally) override {
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
  void measure(std::span<const TrainExample> examples, uint64_t, Tally& tally) override {
    follow(examples);
    count(taggings_.score(batch_), examples, tally);
  }

 private:
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

  [[noreturn]] static void fail_above_one(const TrainExample& example, double log_score) {
    throw ExampleError(
        example.number,
        fmt::format("its likelihood would be exp({:.4g}), above 1: the model is not locally "
                    "normalized, so G_T is no log-likelihood; fit it by --objective conditional",
                    log_score));
  }

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
  std::string name() const override { return "joint likelihood"; }
  ParamGroup group() const override { return ParamGroup::kModel; }
  int shard() const override { return 16; }
  std::unique_ptr<ObjectiveWorker> make_worker(const Program& program,
                                               const Parameters& parameters) const override {
    return std::make_unique<Worker>(program, parameters);
  }
};

}  // namespace

std::unique_ptr<Objective> make_joint_likelihood() { return std::make_unique<JointLikelihood>(); }

}  // namespace scry
