#include "runtime/train/proposal_divergence.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "runtime/smc/check_score.h"
#include "runtime/train/forest_gradient.h"
#include "runtime/train/forest_sampler.h"
#include "runtime/train/residuals.h"
#include "runtime/train/training_error.h"

namespace scry {
namespace {

/// d = log q - G_T, the mean over the particles (eq:grad).
constexpr std::string_view kDivergence = "divergence";

class ProposalDivergence : public Objective {
 public:
  explicit ProposalDivergence(const DivergenceOptions& options) : options_(options) {}
  std::string name() const override { return "proposal divergence"; }
  ParamGroup group() const override { return ParamGroup::kProposal; }
  int shard() const override { return 8; }
  std::unique_ptr<ObjectiveWorker> make_worker(const Program& program,
                                               const Parameters& parameters) const override;

  /// app:gradient-derivation
  void remember(const Tally& tally) override {
    const double num_sequences = tally[Tally::kSequences];
    if (num_sequences == 0) return;
    const double mean = tally[kDivergence] / num_sequences;
    average_ = 0.1 * average_ + 0.9 * mean;
    if (!std::isfinite(average_)) throw TrainingError(fmt::format("log q - G_T is {}", mean));
  }
  std::vector<double> memory() const override { return {average_}; }
  bool restore(std::span<const double> memory) override {
    if (memory.size() != 1 || !std::isfinite(memory[0])) return false;
    average_ = memory[0];
    return true;
  }

  const DivergenceOptions& options() const { return options_; }
  double average() const { return average_; }

 private:
  DivergenceOptions options_;
  double average_ = 0;  // of d
};

/// Particles are drawn from q alone, never resampled, so that their weights are exp G_T / q and
/// their frequencies those of q.
class Worker : public ObjectiveWorker {
 public:
  Worker(const Program& program, const Parameters& parameters, const ProposalDivergence& objective)
      : objective_(objective),
        sampler_(program, parameters,
                 {.method = Method::kSmooth,
                  .particles = objective.options().particles,
                  .trigger = Trigger::kNever,
                  .error_bar = false},
                 true),
        batch_gradient_(program, parameters),
        forest_gradient_(program, parameters, batch_gradient_) {}

  void set_memory(int64_t bytes) override { sampler_.set_memory(bytes); }
  void add_gradient(std::span<const TrainExample> examples, uint64_t seed, double scale,
                    Gradients& gradients, Tally& tally) override {
    const DivergenceOptions& options = objective_.options();
    const bool calibrates = options.calibrate > 0;
    sample(examples, seed, calibrates);
    note(tally, calibrates);
    weights_.assign(run_->finals.size(), 0.0);
    for (size_t s = 0; s < examples.size(); ++s) {
      const ForestSampler::Sample& sample = sampler_.sample(s);
      const Centre centre = centre_of(sample);
      for (size_t i : sample.finals) {
        const Recording::Final& final = run_->finals[i];
        // -∇ log q, in expectation over p̂ (eq:cross-entropy), and (d - b) ∇ log q, over q
        // (eq:grad).
        const double p_hat = std::exp(final.log_weight - sample.log_z);
        const double above = centre.factor * (divergence(final) - centre.value);
        weights_[i] = scale * (options.lambda * shares_[i] * above - (1 - options.lambda) * p_hat);
      }
    }
    Seeds seeds = seed_proposals(*run_, weights_);
    if (calibrates) {
      // Of μ Σ weight · r².
      std::vector<double>& d_residuals = residuals_.of_row;
      for (size_t row = 0; row < d_residuals.size(); ++row)
        d_residuals[row] *= 2 * scale * options.calibrate * residuals_.weights[row];
      seeds += seed_residuals(sampler_.batch(), *run_, d_residuals);
    }
    batch_gradient_.begin(sampler_.batch());
    forest_gradient_.add(sampler_.batch(), *run_, seeds, batch_gradient_, gradients);
    batch_gradient_.finish_lookahead(gradients);
  }
  void measure(std::span<const TrainExample> examples, uint64_t seed, Tally& tally) override {
    sample(examples, seed, true);
    note(tally, true);
  }

 private:
  /// Of the examples at hand: the recording, the particles' shares, and r_t if it is wanted.
  void sample(std::span<const TrainExample> examples, uint64_t seed, bool with_residuals) {
    run_ = &sampler_.run(examples, seed, with_residuals);
    num_examples_ = examples.size();
    shares_.assign(run_->finals.size(), 0.0);
    for (size_t s = 0; s < num_examples_; ++s) {
      const ForestSampler::Sample& sample = sampler_.sample(s);
      for (size_t i : sample.finals)
        shares_[i] = run_->finals[i].count / static_cast<double>(sample.num_live);
    }
    if (!with_residuals) return;
    check_to_go(examples);
    residuals_ = measure_residuals(sampler_.batch(), *run_, shares_);
  }

  /// -∞ is a number to go, as of inputs that are impossible; what is none would be passed over.
  void check_to_go(std::span<const TrainExample> examples) const {
    const Batch& batch = sampler_.batch();
    for (size_t i = 0; i < examples.size(); ++i) {
      const auto s = static_cast<int>(i);
      for (int step = batch.length(s) - 1; step >= 0; --step) {
        const double to_go = batch.to_go(s, step) + (step == 0 ? batch.root_compat(s) : 0);
        if (is_score(to_go)) continue;
        throw TrainingError(
            fmt::format("the lookahead's score to go of example {} at step {} is {}",
                        examples[i].number + 1, step + 1, to_go));
      }
    }
  }

  /// d = log q - G_T of each particle on it, whose weight is G_T - log q.
  double divergence(const Recording::Final& final) const {
    return std::log(static_cast<double>(final.count) / objective_.options().particles) -
           final.log_weight;
  }
  double mean_divergence(const ForestSampler::Sample& sample) const {
    double mean = 0;
    for (size_t i : sample.finals) {
      const Recording::Final& final = run_->finals[i];
      mean += final.count * divergence(final) / static_cast<double>(sample.num_live);
    }
    return mean;
  }

  /// d - b = factor · (d - value). Of n particles with the mean d̄, the others of one have the mean
  /// (n d̄ - d) / (n - 1), whether or not some of them share its tagging.
  struct Centre {
    double value, factor;
  };
  Centre centre_of(const ForestSampler::Sample& sample) const {
    const auto num_live = static_cast<double>(sample.num_live);
    if (objective_.options().baseline == Baseline::kAverage || num_live < 2)
      return {objective_.average(), 1};
    return {mean_divergence(sample), num_live / (num_live - 1)};
  }

  void note(Tally& tally, bool with_residuals) {
    const DivergenceOptions& options = objective_.options();
    double loss = 0, kl = 0, d_sum = 0, log_z = 0, ess = 0, residual = 0, to_go_error = 0;
    int num_sequences = 0, num_failed = 0, num_calibrated = 0;
    int64_t num_symbols = 0;
    for (size_t s = 0; s < num_examples_; ++s) {
      if (sampler_.failed(s)) {
        ++num_failed;
        continue;
      }
      const ForestSampler::Sample& sample = sampler_.sample(s);
      const double mean_d = mean_divergence(sample);
      double inclusive = -sample.log_z;
      for (size_t i : sample.finals) {
        const Recording::Final& final = run_->finals[i];
        inclusive -= std::exp(final.log_weight - sample.log_z) * divergence(final);
      }
      const double exclusive = mean_d + sample.log_z;
      ++num_sequences;
      num_symbols += sampler_.batch().length(static_cast<int>(s));
      loss += (1 - options.lambda) * inclusive + options.lambda * exclusive;
      kl += exclusive;
      d_sum += mean_d;
      log_z += sample.log_z;
      ess += sample.ess;
      if (!with_residuals) continue;
      const double mean_square = residuals_.mean_squares[s];
      const double error = sampler_.batch().root_compat(static_cast<int>(s)) +
                           sampler_.batch().to_go(static_cast<int>(s), 0) - sample.log_z;
      if (!std::isnan(mean_square)) loss += options.calibrate * mean_square;
      if (!std::isfinite(error)) continue;  // then r_1 is among those that there are not
      ++num_calibrated;
      residual += mean_square;
      to_go_error += error * error;
    }
    tally.add(Tally::kSequences, num_sequences);
    tally.add(Tally::kSymbols, static_cast<double>(num_symbols));
    tally.add(Tally::kFailed, num_failed);
    tally.add(Tally::kLoss, loss);
    tally.add(Tally::kKl, kl);
    tally.add(kDivergence, d_sum);
    tally.add(Tally::kLogZ, log_z);
    tally.add(Tally::kEss, ess);
    if (with_residuals) {
      tally.add(Tally::kCalibrated, num_calibrated);
      tally.add(Tally::kResidual, residual);
      tally.add(Tally::kToGoError, to_go_error);
    }
    sampler_.count_rows(tally);
  }

  const ProposalDivergence& objective_;
  ForestSampler sampler_;
  BatchGradient batch_gradient_;
  ForestGradient forest_gradient_;
  const Recording* run_ = nullptr;
  size_t num_examples_ = 0;
  std::vector<double> shares_, weights_;  // by final
  Residuals residuals_;
};

std::unique_ptr<ObjectiveWorker> ProposalDivergence::make_worker(
    const Program& program, const Parameters& parameters) const {
  return std::make_unique<Worker>(program, parameters, *this);
}

}  // namespace

const char* name_of(Baseline baseline) {
  constexpr std::array kNames{"leave-one-out", "average"};
  return kNames.at(static_cast<size_t>(baseline));
}

std::unique_ptr<Objective> make_proposal_divergence(const DivergenceOptions& options) {
  return std::make_unique<ProposalDivergence>(options);
}

}  // namespace scry
