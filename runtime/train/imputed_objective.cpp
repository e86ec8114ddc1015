#include "runtime/train/imputed_objective.h"

#include <cmath>
#include <deque>

#include "runtime/kernels/philox.h"
#include "runtime/train/forest_sampler.h"
#include "runtime/train/observed_sum.h"

namespace scry {
namespace {

constexpr uint32_t kDrawSeed = UINT32_MAX - 11;  // the draws are not the objective's

class Worker : public ObjectiveWorker {
 public:
  Worker(const Program& program, const Parameters& parameters, int particles,
         std::unique_ptr<ObjectiveWorker> worker)
      : worker_(std::move(worker)),
        sampler_(program, parameters,
                 {.method = Method::kDiscrete,
                  .particles = particles,
                  .tolerance = 0,
                  .error_bar = false},
                 false, GivenUse::kAllow) {}

  void set_memory(int64_t bytes) override {
    worker_->set_memory(bytes);
    sampler_.set_memory(bytes);
  }
  void add_gradient(std::span<const TrainExample> examples, uint64_t seed, double scale,
                    Gradients& gradients, Tally& tally) override {
    const std::span<const TrainExample> completed = complete(examples, seed, tally);
    if (!completed.empty()) worker_->add_gradient(completed, seed, scale, gradients, tally);
  }
  void measure(std::span<const TrainExample> examples, uint64_t seed, Tally& tally) override {
    const std::span<const TrainExample> completed = complete(examples, seed, tally);
    if (!completed.empty()) worker_->measure(completed, seed, tally);
  }

 private:
  /// Without those of which no tagging was found.
  std::span<const TrainExample> complete(std::span<const TrainExample> examples, uint64_t seed,
                                         Tally& tally) {
    const std::vector<TrainExample> incomplete = select_examples(examples, false);
    if (incomplete.empty()) return examples;
    const uint64_t draw_seed = derive_seed(seed, kDrawSeed);
    const Recording& sampled = sampler_.run(incomplete, draw_seed);
    drawn_.clear();
    completed_.clear();
    size_t s = 0;  // of the incomplete ones
    for (TrainExample example : examples) {
      if (!example.is_complete()) {
        const size_t mine = s++;
        if (sampler_.failed(mine)) {
          tally.add(Tally::kFailed, 1);
          continue;
        }
        Random random(draw_seed, static_cast<uint32_t>(example.number), 1);
        example.y = draw(sampled, sampler_.sample(mine), example.x.size(), random.uniform());
        tally.add(Tally::kEstimated, 1);
      }
      completed_.push_back(example);
    }
    return completed_;
  }

  std::span<const int> draw(const Recording& sampled, const ForestSampler::Sample& sample,
                            size_t length, double uniform) {
    size_t chosen = sample.finals.front();
    for (const size_t i : sample.finals) {
      const double share = std::exp(sampled.finals[i].log_weight - sample.log_z);
      if (share > 0) chosen = i;
      uniform -= share;
      if (uniform < 0) break;
    }
    std::vector<int>& tags = drawn_.emplace_back(length);
    RowId row = sampled.finals[chosen].row;
    for (size_t t = length; t > 0; --t, row = sampled.forest.parent(row))
      tags[t - 1] = sampled.forest.tag(row);
    return tags;
  }

  std::unique_ptr<ObjectiveWorker> worker_;
  ForestSampler sampler_;
  std::deque<std::vector<int>> drawn_;
  std::vector<TrainExample> completed_;
};

class Imputed : public Objective {
 public:
  Imputed(std::unique_ptr<Objective> objective, int particles)
      : objective_(std::move(objective)), particles_(particles) {}
  std::string name() const override { return objective_->name(); }
  ParamGroup group() const override { return objective_->group(); }
  int shard() const override { return objective_->shard(); }
  std::unique_ptr<ObjectiveWorker> make_worker(const Program& program,
                                               const Parameters& parameters) const override {
    return std::make_unique<Worker>(program, parameters, particles_,
                                    objective_->make_worker(program, parameters));
  }
  void remember(const Tally& tally) override { objective_->remember(tally); }
  std::vector<double> memory() const override { return objective_->memory(); }
  bool restore(std::span<const double> memory) override { return objective_->restore(memory); }

 private:
  std::unique_ptr<Objective> objective_;
  int particles_;
};

}  // namespace

std::unique_ptr<Objective> make_imputed(std::unique_ptr<Objective> objective, int particles) {
  return std::make_unique<Imputed>(std::move(objective), particles);
}

}  // namespace scry
