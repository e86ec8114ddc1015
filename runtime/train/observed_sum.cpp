#include "runtime/train/observed_sum.h"

#include <algorithm>
#include <cmath>

#include "runtime/train/forest_gradient.h"
#include "runtime/train/forest_sampler.h"
#include "runtime/train/lattice_gradient.h"

namespace scry {
namespace {

class ExactSum : public ObservedSum {
 public:
  ExactSum(const Program& program, const Parameters& parameters)
      : encoder_(program, parameters),
        batch_gradient_(program, parameters),
        lattice_gradient_(program, parameters, batch_gradient_),
        batch_(program) {}

  void set_memory(int64_t bytes) override { lattice_gradient_.set_memory(bytes); }
  std::span<const double> add_gradient(std::span<const TrainExample> examples, uint64_t,
                                       double scale, Gradients& gradients) override {
    build(examples);
    lattice_gradient_.clear_seeds();
    log_sums_.clear();
    for (size_t s = 0; s < examples.size(); ++s)
      log_sums_.push_back(lattice_gradient_.seed_log_z(s, scale));
    batch_gradient_.begin(batch_);
    lattice_gradient_.add(batch_, batch_gradient_, gradients);
    batch_gradient_.finish_model(gradients);
    return log_sums_;
  }
  std::span<const double> measure(std::span<const TrainExample> examples, uint64_t) override {
    log_sums_.clear();
    for (const Lattice& lattice : build(examples))
      log_sums_.push_back(LatticeSums(lattice, 1).log_z());
    return log_sums_;
  }

 private:
  std::span<const Lattice> build(std::span<const TrainExample> examples) {
    inputs_.clear();
    for (const TrainExample& example : examples) inputs_.push_back(example.x);
    encoder_.run(inputs_, false, batch_);
    return lattice_gradient_.build(batch_, examples, LatticeGradient::Taggings::kObserved);
  }

  BatchEncoder encoder_;
  BatchGradient batch_gradient_;
  LatticeGradient lattice_gradient_;
  Batch batch_;
  std::vector<std::span<const int>> inputs_;
  std::vector<double> log_sums_;
};

class SampledSum : public ObservedSum {
 public:
  SampledSum(const Program& program, const Parameters& parameters, int particles)
      : sampler_(program, parameters,
                 {.method = Method::kDiscrete,
                  .particles = particles,
                  .tolerance = 0,
                  .error_bar = false},
                 false, GivenUse::kAllow),
        batch_gradient_(program, parameters),
        forest_gradient_(program, parameters, batch_gradient_) {}

  void set_memory(int64_t bytes) override { sampler_.set_memory(bytes); }
  std::span<const double> add_gradient(std::span<const TrainExample> examples, uint64_t seed,
                                       double scale, Gradients& gradients) override {
    const Recording& sampled = sampler_.run(examples, seed);
    weights_.assign(sampled.finals.size(), 0.0);
    for (size_t s = 0; s < examples.size(); ++s) {
      if (sampler_.failed(s)) continue;
      const ForestSampler::Sample& sample = sampler_.sample(s);
      for (size_t i : sample.finals)
        weights_[i] = scale * std::exp(sampled.finals[i].log_weight - sample.log_z);
    }
    batch_gradient_.begin(sampler_.batch());
    forest_gradient_.add(sampler_.batch(), sampled, seed_scores(sampled, weights_), batch_gradient_,
                         gradients);
    batch_gradient_.finish_model(gradients);
    return read_sums(examples.size());
  }
  std::span<const double> measure(std::span<const TrainExample> examples, uint64_t seed) override {
    sampler_.run(examples, seed);
    return read_sums(examples.size());
  }

 private:
  std::span<const double> read_sums(size_t count) {
    log_sums_.clear();
    for (size_t s = 0; s < count; ++s)
      log_sums_.push_back(sampler_.failed(s) ? -INFINITY : sampler_.sample(s).log_z);
    return log_sums_;
  }

  ForestSampler sampler_;
  BatchGradient batch_gradient_;
  ForestGradient forest_gradient_;
  std::vector<double> weights_, log_sums_;
};

}  // namespace

std::unique_ptr<ObservedSum> make_observed_sum(const Program& program, const Parameters& parameters,
                                               const ObservedSumOptions& options) {
  if (options.is_exact) return std::make_unique<ExactSum>(program, parameters);
  return std::make_unique<SampledSum>(program, parameters, options.particles);
}

std::vector<TrainExample> select_examples(std::span<const TrainExample> examples, bool complete) {
  std::vector<TrainExample> selected;
  std::copy_if(examples.begin(), examples.end(), std::back_inserter(selected),
               [&](const TrainExample& example) { return example.is_complete() == complete; });
  return selected;
}

}  // namespace scry
