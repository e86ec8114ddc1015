#include "runtime/train/objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/smc/interpreter.h"
#include "runtime/train/forest_gradient.h"
#include "runtime/train/given_taggings.h"
#include "runtime/train/training_error.h"

namespace scry {
namespace {

/// A sample for each example, on one forest.
class ForestSampler {
 public:
  ForestSampler(const Program& program, const Parameters& parameters, const SampleOptions& options)
      : options_(options), interpreter_(program, parameters, options), recording_(program) {}

  /// What is known of one sequence's particles.
  struct Sample {
    std::vector<size_t> finals;  ///< of the recording
    double log_z = 0;
    double ess = 0;        ///< in parts of M
    int64_t num_live = 0;  ///< particles that came to the end
  };

  const Recording& run(std::span<const TrainExample> examples, uint64_t seed) {
    interpreter_.set_seed(seed);
    inputs_.clear();
    jobs_.clear();
    outcomes_.assign(examples.size(), {});
    for (const TrainExample& example : examples) inputs_.emplace_back(example.x);
    for (size_t i = 0; i < examples.size(); ++i)
      jobs_.push_back({&inputs_[i], examples[i].number, &outcomes_[i]});
    interpreter_.run(jobs_, &recording_);
    for (const Outcome& outcome : outcomes_) {
      if (outcome.error && outcome.error->trouble() != Trouble::kNoMass)
        throw TrainingError(outcome.error->what());
    }
    summarize();
    return recording_;
  }

  const Batch& batch() const { return interpreter_.batch(); }
  bool failed(size_t sequence) const { return outcomes_[sequence].error.has_value(); }
  const Sample& sample(size_t sequence) const { return samples_[sequence]; }

  /// Rows extended, and particle steps they stand for.
  void count_rows(Tally& tally) const {
    for (size_t s = 0; s < samples_.size(); ++s) {
      tally.num_particle_steps +=
          static_cast<int64_t>(options_.particles) * batch().length(static_cast<int>(s));
    }
    for (int level = 0; level < batch().max_length(); ++level)
      tally.num_rows += recording_.states[static_cast<size_t>(level)].num_rows();
  }

 private:
  void summarize() {
    samples_.assign(jobs_.size(), {});
    for (size_t i = 0; i < recording_.finals.size(); ++i)
      samples_[static_cast<size_t>(recording_.finals[i].sequence)].finals.push_back(i);
    for (Sample& sample : samples_) {
      log_weights_.clear();
      for (size_t i : sample.finals) log_weights_.push_back(recording_.finals[i].log_weight);
      sample.log_z = log_sum_exp(log_weights_);
      double squares = 0;
      for (size_t i : sample.finals) {
        const Recording::Final& final = recording_.finals[i];
        const double share = std::exp(final.log_weight - sample.log_z);
        squares += share * share / final.count;
        sample.num_live += final.count;
      }
      sample.ess = squares == 0 ? 0 : 1 / squares / options_.particles;
    }
  }

  SampleOptions options_;
  Interpreter interpreter_;
  Recording recording_;
  std::vector<SampleInput> inputs_;
  std::vector<Job> jobs_;
  std::vector<Outcome> outcomes_;
  std::vector<Sample> samples_;
  std::vector<double> log_weights_;
};

/// log p(x, y) of given taggings.
class JointLikelihood : public Objective {
 public:
  JointLikelihood(const Program& program, const Parameters& parameters)
      : encoder_(program, parameters),
        taggings_(program, parameters),
        batch_gradient_(program, parameters),
        forest_gradient_(program, parameters, batch_gradient_) {}

  void add_gradient(std::span<const TrainExample> examples, const StepContext&, double scale,
                    Gradients& gradients, Tally& tally) override {
    const Recording& given = follow(examples, tally);
    weights_.assign(examples.size(), -scale);
    batch_gradient_.begin(batch_);
    forest_gradient_.add_score_gradient(batch_, given, weights_, batch_gradient_, gradients);
    batch_gradient_.finish_model(gradients);
  }
  void measure(std::span<const TrainExample> examples, const StepContext&, Tally& tally) override {
    follow(examples, tally);
  }

 private:
  const Recording& follow(std::span<const TrainExample> examples, Tally& tally) {
    inputs_.clear();
    for (const TrainExample& example : examples) inputs_.push_back(example.x);
    encoder_.run(inputs_, false, batch_);
    const Recording& given = taggings_.run(batch_, examples);
    for (const Recording::Final& final : given.finals) {
      const int length = batch_.length(final.sequence);
      if (final.log_weight > score_slack(length))
        fail_above_one(examples[static_cast<size_t>(final.sequence)], final.log_weight);
      const double negative_log_p = std::max(0.0, -final.log_weight);
      ++tally.num_sequences;
      tally.num_symbols += length;
      tally.negative_log_p += negative_log_p;
      tally.loss += negative_log_p;
    }
    return given;
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

SampleOptions options_for_likelihood(const Program& program, int particles) {
  return {.method = program.has_proposal() ? Method::kSmooth : Method::kFilter,
          .particles = particles,
          .trigger = Trigger::kEss,
          .error_bar = false};
}

/// log p(y | x) = G_T - log Z of given taggings, with log Ẑ and E_p̂ for log Z and its gradient.
class ConditionalLikelihood : public Objective {
 public:
  ConditionalLikelihood(const Program& program, const Parameters& parameters, int particles)
      : sampler_(program, parameters, options_for_likelihood(program, particles)),
        taggings_(program, parameters),
        batch_gradient_(program, parameters),
        forest_gradient_(program, parameters, batch_gradient_) {}

  void add_gradient(std::span<const TrainExample> examples, const StepContext& context,
                    double scale, Gradients& gradients, Tally& tally) override {
    const Recording& sampled = sampler_.run(examples, context.seed);
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
    forest_gradient_.add_score_gradient(batch, given, given_weights_, batch_gradient_, gradients);
    forest_gradient_.add_score_gradient(batch, sampled, sampled_weights_, batch_gradient_,
                                        gradients);
    batch_gradient_.finish_model(gradients);
  }
  void measure(std::span<const TrainExample> examples, const StepContext& context,
               Tally& tally) override {
    sampler_.run(examples, context.seed);
    note(taggings_.run(sampler_.batch(), examples), tally);
  }

 private:
  void note(const Recording& given, Tally& tally) {
    for (const Recording::Final& final : given.finals) {
      const auto s = static_cast<size_t>(final.sequence);
      if (sampler_.failed(s)) {
        ++tally.num_failed;
        continue;
      }
      const int length = sampler_.batch().length(final.sequence);
      const double overshoot = final.log_weight - sampler_.sample(s).log_z;
      ++tally.num_sequences;
      tally.num_symbols += length;
      tally.negative_log_p += std::max(0.0, -overshoot);
      tally.loss += std::max(0.0, -overshoot);
      if (overshoot > score_slack(length)) {
        ++tally.num_overshot;
        tally.overshoot += overshoot;
      }
      tally.ess += sampler_.sample(s).ess;
    }
    sampler_.count_rows(tally);
  }

  ForestSampler sampler_;
  GivenTaggings taggings_;
  BatchGradient batch_gradient_;
  ForestGradient forest_gradient_;
  std::vector<double> given_weights_, sampled_weights_;
};

/// (1-λ) KL(p ‖ q) + λ KL(q ‖ p). Particles are drawn from q alone, never resampled, so that their
/// weights are exp G_T / q and their frequencies those of q.
class ProposalDivergence : public Objective {
 public:
  ProposalDivergence(const Program& program, const Parameters& parameters, int particles,
                     double lambda)
      : particles_(particles),
        lambda_(lambda),
        sampler_(program, parameters,
                 {.method = Method::kSmooth,
                  .particles = particles,
                  .trigger = Trigger::kNever,
                  .error_bar = false}),
        batch_gradient_(program, parameters),
        forest_gradient_(program, parameters, batch_gradient_) {}

  void add_gradient(std::span<const TrainExample> examples, const StepContext& context,
                    double scale, Gradients& gradients, Tally& tally) override {
    const Recording& run = sampler_.run(examples, context.seed);
    note(run, examples.size(), tally);
    weights_.assign(run.finals.size(), 0.0);
    for (size_t s = 0; s < examples.size(); ++s) {
      const ForestSampler::Sample& sample = sampler_.sample(s);
      for (size_t i : sample.finals) {
        const Recording::Final& final = run.finals[i];
        // -∇ log q, in expectation over p̂ (eq:cross-entropy), and (d - b) ∇ log q, over q
        // (eq:grad).
        const double p_hat = std::exp(final.log_weight - sample.log_z);
        const double share =
            static_cast<double>(final.count) / static_cast<double>(sample.num_live);
        weights_[i] = scale * (lambda_ * share * (divergence(final) - context.baseline) -
                               (1 - lambda_) * p_hat);
      }
    }
    batch_gradient_.begin(sampler_.batch());
    forest_gradient_.add_proposal_gradient(sampler_.batch(), run, weights_, batch_gradient_,
                                           gradients);
    batch_gradient_.finish_lookahead(gradients);
  }
  void measure(std::span<const TrainExample> examples, const StepContext& context,
               Tally& tally) override {
    note(sampler_.run(examples, context.seed), examples.size(), tally);
  }

 private:
  /// d = log q - G_T of each particle on it, whose weight is G_T - log q.
  double divergence(const Recording::Final& final) const {
    return std::log(static_cast<double>(final.count) / particles_) - final.log_weight;
  }

  void note(const Recording& run, size_t num_sequences, Tally& tally) {
    for (size_t s = 0; s < num_sequences; ++s) {
      if (sampler_.failed(s)) {
        ++tally.num_failed;
        continue;
      }
      const ForestSampler::Sample& sample = sampler_.sample(s);
      double mean_d = 0, inclusive = -sample.log_z;
      for (size_t i : sample.finals) {
        const Recording::Final& final = run.finals[i];
        const double d = divergence(final);
        mean_d += final.count * d / static_cast<double>(sample.num_live);
        inclusive -= std::exp(final.log_weight - sample.log_z) * d;
      }
      const double exclusive = mean_d + sample.log_z;
      ++tally.num_sequences;
      tally.num_symbols += sampler_.batch().length(static_cast<int>(s));
      tally.loss += (1 - lambda_) * inclusive + lambda_ * exclusive;
      tally.kl += exclusive;
      tally.divergence += mean_d;
      tally.ess += sample.ess;
    }
    sampler_.count_rows(tally);
  }

  int particles_;
  double lambda_;
  ForestSampler sampler_;
  BatchGradient batch_gradient_;
  ForestGradient forest_gradient_;
  std::vector<double> weights_;
};

}  // namespace

std::unique_ptr<Objective> make_joint_likelihood(const Program& program,
                                                 const Parameters& parameters) {
  return std::make_unique<JointLikelihood>(program, parameters);
}

std::unique_ptr<Objective> make_conditional_likelihood(const Program& program,
                                                       const Parameters& parameters,
                                                       int particles) {
  return std::make_unique<ConditionalLikelihood>(program, parameters, particles);
}

std::unique_ptr<Objective> make_proposal_divergence(const Program& program,
                                                    const Parameters& parameters, int particles,
                                                    double lambda) {
  return std::make_unique<ProposalDivergence>(program, parameters, particles, lambda);
}

}  // namespace scry
