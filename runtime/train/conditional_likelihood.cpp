#include "runtime/train/conditional_likelihood.h"

#include <algorithm>
#include <cmath>

#include "runtime/train/forest_gradient.h"
#include "runtime/train/forest_sampler.h"
#include "runtime/train/given_taggings.h"

namespace scry {
namespace {

SampleOptions options_for(const Program& program, int particles) {
  return {.method = program.has_proposal() ? Method::kSmooth : Method::kFilter,
          .particles = particles,
          .trigger = Trigger::kEss,
          .error_bar = false};
}

/// log p(y | x) = G_T - log Z, with log Ẑ and E_p̂ for log Z and its gradient.
class Worker : public ObjectiveWorker {
 public:
  Worker(const Program& program, const Parameters& parameters, int particles)
      : sampler_(program, parameters, options_for(program, particles), false),
        taggings_(program, parameters),
        batch_gradient_(program, parameters),
        forest_gradient_(program, parameters, batch_gradient_) {}

  void set_memory(int64_t bytes) override { sampler_.set_memory(bytes); }
  void add_gradient(std::span<const TrainExample> examples, uint64_t seed, double scale,
                    Gradients& gradients, Tally& tally) override {
    const Recording& sampled = sampler_.run(examples, seed);
    const Batch& batch = sampler_.batch();
    const Recording& given = taggings_.run(batch, examples);
    note(given, tally);
    given_weights_.assign(given.finals.size(), 0.0);
    sampled_weights_.assign(sampled.finals.size(), 0.0);
    for (size_t s = 0; s < examples.size(); ++s) {
      if (sampler_.failed(s)) continue;
      given_weights_[s] = -scale;
      const ForestSampler::Sample& sample = sampler_.sample(s);
      for (size_t i : sample.finals)
        sampled_weights_[i] = scale * std::exp(sampled.finals[i].log_weight - sample.log_z);
    }
    batch_gradient_.begin(batch);
    forest_gradient_.add(batch, given, seed_scores(given, given_weights_), batch_gradient_,
                         gradients);
    forest_gradient_.add(batch, sampled, seed_scores(sampled, sampled_weights_), batch_gradient_,
                         gradients);
    batch_gradient_.finish_model(gradients);
  }
  void measure(std::span<const TrainExample> examples, uint64_t seed, Tally& tally) override {
    sampler_.run(examples, seed);
    note(taggings_.run(sampler_.batch(), examples), tally);
  }

 private:
  void note(const Recording& given, Tally& tally) {
    double loss = 0, ess = 0, excess = 0;
    int num_sequences = 0, num_failed = 0, num_overshot = 0;
    int64_t num_symbols = 0;
    for (const Recording::Final& final : given.finals) {
      const auto s = static_cast<size_t>(final.sequence);
      if (sampler_.failed(s)) {
        ++num_failed;
        continue;
      }
      const int length = sampler_.batch().length(final.sequence);
      const double overshoot = final.log_weight - sampler_.sample(s).log_z;
      ++num_sequences;
      num_symbols += length;
      loss += std::max(0.0, -overshoot);
      if (overshoot > score_slack(length)) {
        ++num_overshot;
        excess += overshoot;
      }
      ess += sampler_.sample(s).ess;
    }
    tally.add(Tally::kSequences, num_sequences);
    tally.add(Tally::kSymbols, static_cast<double>(num_symbols));
    tally.add(Tally::kFailed, num_failed);
    tally.add(Tally::kNegativeLogP, loss);
    tally.add(Tally::kLoss, loss);
    tally.add(Tally::kOvershot, num_overshot);
    tally.add(Tally::kOvershoot, excess);
    tally.add(Tally::kEss, ess);
    sampler_.count_rows(tally);
  }

  ForestSampler sampler_;
  GivenTaggings taggings_;
  BatchGradient batch_gradient_;
  ForestGradient forest_gradient_;
  std::vector<double> given_weights_, sampled_weights_;
};

class ConditionalLikelihood : public Objective {
 public:
  explicit ConditionalLikelihood(int particles) : particles_(particles) {}
  std::string name() const override { return "conditional likelihood"; }
  ParamGroup group() const override { return ParamGroup::kModel; }
  int shard() const override { return 8; }
  std::unique_ptr<ObjectiveWorker> make_worker(const Program& program,
                                               const Parameters& parameters) const override {
    return std::make_unique<Worker>(program, parameters, particles_);
  }

 private:
  int particles_;
};

}  // namespace

std::unique_ptr<Objective> make_conditional_likelihood(int particles) {
  return std::make_unique<ConditionalLikelihood>(particles);
}

}  // namespace scry
