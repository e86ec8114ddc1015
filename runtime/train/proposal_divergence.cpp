#include "runtime/train/proposal_divergence.h"

#include <fmt/format.h>

#include <cmath>

#include "runtime/train/forest_gradient.h"
#include "runtime/train/forest_sampler.h"
#include "runtime/train/training_error.h"

namespace scry {
namespace {

/// d = log q - G_T, the mean over the particles (eq:grad).
constexpr std::string_view kDivergence = "divergence";

class ProposalDivergence : public Objective {
 public:
  ProposalDivergence(int particles, double lambda) : particles_(particles), lambda_(lambda) {}
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
    baseline_ = 0.1 * baseline_ + 0.9 * mean;
    if (!std::isfinite(baseline_)) throw TrainingError(fmt::format("log q - G_T is {}", mean));
  }
  std::vector<double> memory() const override { return {baseline_}; }
  bool restore(std::span<const double> memory) override {
    if (memory.size() != 1 || !std::isfinite(memory[0])) return false;
    baseline_ = memory[0];
    return true;
  }

  int particles() const { return particles_; }
  double lambda() const { return lambda_; }
  double baseline() const { return baseline_; }

 private:
  int particles_;
  double lambda_;
  double baseline_ = 0;  // b
};

/// Particles are drawn from q alone, never resampled, so that their weights are exp G_T / q and
/// their frequencies those of q.
class Worker : public ObjectiveWorker {
 public:
  Worker(const Program& program, const Parameters& parameters, const ProposalDivergence& objective)
      : objective_(objective),
        sampler_(program, parameters,
                 {.method = Method::kSmooth,
                  .particles = objective.particles(),
                  .trigger = Trigger::kNever,
                  .error_bar = false},
                 true),
        batch_gradient_(program, parameters),
        forest_gradient_(program, parameters, batch_gradient_) {}

  void add_gradient(std::span<const TrainExample> examples, uint64_t seed, double scale,
                    Gradients& gradients, Tally& tally) override {
    const Recording& run = sampler_.run(examples, seed);
    note(run, examples.size(), tally);
    const double lambda = objective_.lambda();
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
        weights_[i] = scale * (lambda * share * (divergence(final) - objective_.baseline()) -
                               (1 - lambda) * p_hat);
      }
    }
    batch_gradient_.begin(sampler_.batch());
    forest_gradient_.add(sampler_.batch(), run, seed_proposals(run, weights_), batch_gradient_,
                         gradients);
    batch_gradient_.finish_lookahead(gradients);
  }
  void measure(std::span<const TrainExample> examples, uint64_t seed, Tally& tally) override {
    note(sampler_.run(examples, seed), examples.size(), tally);
  }

 private:
  /// d = log q - G_T of each particle on it, whose weight is G_T - log q.
  double divergence(const Recording::Final& final) const {
    return std::log(static_cast<double>(final.count) / objective_.particles()) - final.log_weight;
  }

  void note(const Recording& run, size_t num_examples, Tally& tally) {
    const double lambda = objective_.lambda();
    double loss = 0, kl = 0, d_sum = 0, ess = 0;
    int num_sequences = 0, num_failed = 0;
    int64_t num_symbols = 0;
    for (size_t s = 0; s < num_examples; ++s) {
      if (sampler_.failed(s)) {
        ++num_failed;
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
      ++num_sequences;
      num_symbols += sampler_.batch().length(static_cast<int>(s));
      loss += (1 - lambda) * inclusive + lambda * exclusive;
      kl += exclusive;
      d_sum += mean_d;
      ess += sample.ess;
    }
    tally.add(Tally::kSequences, num_sequences);
    tally.add(Tally::kSymbols, static_cast<double>(num_symbols));
    tally.add(Tally::kFailed, num_failed);
    tally.add(Tally::kLoss, loss);
    tally.add(Tally::kKl, kl);
    tally.add(kDivergence, d_sum);
    tally.add(Tally::kEss, ess);
    sampler_.count_rows(tally);
  }

  const ProposalDivergence& objective_;
  ForestSampler sampler_;
  BatchGradient batch_gradient_;
  ForestGradient forest_gradient_;
  std::vector<double> weights_;
};

std::unique_ptr<ObjectiveWorker> ProposalDivergence::make_worker(
    const Program& program, const Parameters& parameters) const {
  return std::make_unique<Worker>(program, parameters, *this);
}

}  // namespace

std::unique_ptr<Objective> make_proposal_divergence(int particles, double lambda) {
  return std::make_unique<ProposalDivergence>(particles, lambda);
}

}  // namespace scry
