#include "runtime/train/development.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "runtime/smc/metrics.h"

namespace scry {
namespace {

/// What is left of a failed sample: nothing, where no particle had weight. Throws TrainingError for
/// any other failure, Error where memory was too little.
bool has_mass(const Outcome& outcome) {
  if (!outcome.error) return outcome.ensemble.log_z != -INFINITY;
  if (outcome.error->trouble() == Trouble::kTooMuchMemory)
    throw Error("a development sequence: " + outcome.error->message());
  if (outcome.error->trouble() != Trouble::kNoMass) throw TrainingError(outcome.error->what());
  return false;
}

/// Over the particles: -E_q[d] (eq:grad), as nothing was resampled.
double mean_log_weight(const Ensemble& ensemble) {
  double total = 0;
  int64_t count = 0;
  for (size_t i = 0; i < ensemble.size(); ++i) {
    total += ensemble.count(i) * ensemble.particle_log_weight(i);
    count += ensemble.count(i);
  }
  return total / static_cast<double>(count);
}

}  // namespace

uint64_t development_seed(const TrainOptions& options) {
  return derive_seed(options.seed, UINT32_MAX - 7);
}

double measure_likelihood(ShardedObjective& objective, std::span<const TrainExample> examples,
                          const TrainOptions& options, EpochReport& report) {
  Tally tally;
  try {
    tally = objective.measure(examples, development_seed(options));
  } catch (const ExampleError& error) {
    throw ExampleError(error.number(), error.message(), ExampleSet::kDevelopment);
  }
  report.dev_failed += tally.count(Tally::kFailed);
  if (tally[Tally::kSequences] == 0)
    throw TrainingError("no sequence of it could be scored: every particle has weight 0");
  report.dev_sequences = tally.count(Tally::kSequences);
  report.dev_overshot = tally.count(Tally::kOvershot);
  if (tally.contains(Tally::kGap)) {
    report.dev_gap = tally[Tally::kGap] / tally[Tally::kSymbols];
    report.dev_drift = tally[Tally::kDrift] / tally[Tally::kSymbols];
  }
  report.dev_estimated = tally.count(Tally::kEstimated);
  report.is_reliable = tally.is_reliable();
  if (!report.is_reliable) return INFINITY;
  report.perplexity = std::exp(tally[Tally::kNegativeLogP] / tally[Tally::kSymbols]);
  return tally[Tally::kNegativeLogP] / tally[Tally::kSequences];
}

void measure_calibration(ShardedObjective& divergence, std::span<const TrainExample> examples,
                         const TrainOptions& options, EpochReport& report) {
  const Tally tally = divergence.measure(examples, development_seed(options));
  report.dev_residual_rms = tally.residual_rms();
  report.dev_to_go_rmse = tally.to_go_rmse();
}

std::string describe_overshoot(const EpochReport& report) {
  std::vector<std::string> parts;
  const auto count = [&](int64_t overshot, int64_t all, const char* set) {
    if (overshot > 0) parts.push_back(fmt::format("{} of {} {}", overshot, all, set));
  };
  count(report.train.count(Tally::kOvershot), report.train.count(Tally::kSequences), "training");
  count(report.dev_overshot, report.dev_sequences, "development");
  constexpr const char* kAdvice =
      "give more particles (-M), a proposal that is learned along, or normalize the model locally";
  const bool is_reliable = report.is_reliable && report.train.is_reliable();
  // Small excesses of the rough figure of training tell nothing where a development set does.
  if (is_reliable && report.dev_sequences > 0 && report.dev_overshot == 0) return "";
  if (!parts.empty()) {
    return fmt::format(
        "epoch {}: {} sequences have G(y) above the estimated log Z, which is thus too low: "
        "perplexities {}; {}",
        report.epoch, fmt::join(parts, " and "),
        is_reliable ? "may be too good" : "cannot be trusted", kAdvice);
  }
  if (report.is_reliable) return "";
  return fmt::format(
      "epoch {}: the development set's log Z is not known: estimates with y* and without are "
      "{:.2g} nats a symbol apart, and move by {:.2g} from M to 4M; {}",
      report.epoch, report.dev_gap, report.dev_drift, kAdvice);
}

DevelopmentDivergence::DevelopmentDivergence(const Program& program, const Parameters& parameters,
                                             std::span<const TrainExample> examples,
                                             const TrainOptions& options, Offset offset)
    : sampler_(program, parameters, options.threads), offset_(offset) {
  for (const TrainExample& example : examples) inputs_.emplace_back(example.x);
  options_.method = Method::kSmooth;
  options_.trigger = Trigger::kNever;
  options_.particles = options.particles;
  options_.seed = development_seed(options);
  options_.error_bar = false;
  options_.memory = options.memory;
}

void DevelopmentDivergence::compute_offsets() {
  SampleOptions options = options_;
  options.method = Method::kFilter;
  options.trigger = Trigger::kEss;
  options.particles *= 16;
  options.seed = derive_seed(options.seed, 1);
  log_z_.emplace();
  for (const Outcome& outcome : sampler_.sample(inputs_, options)) {
    ParticlePool pool;
    if (has_mass(outcome)) pool.add(outcome.ensemble);
    log_z_->push_back(pool.log_z());
  }
}

void DevelopmentDivergence::measure(EpochReport& report) {
  if (offset_ == Offset::kOnce && !log_z_) compute_offsets();
  const std::vector<Outcome> outcomes = sampler_.sample(inputs_, options_);
  std::vector<Outcome> extra;
  if (offset_ == Offset::kEveryEpoch) {
    SampleOptions options = options_;
    options.trigger = Trigger::kEss;
    extra = sample_extra(sampler_, inputs_, options);
  }
  double offset_kl = 0, kl = 0, ess = 0;
  int64_t count = 0;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const bool is_whole = has_mass(outcomes[i]);
    double log_z = -INFINITY;
    if (log_z_) {
      log_z = (*log_z_)[i];
    } else if (is_whole) {
      ParticlePool pool;
      pool.add(outcomes[i].ensemble);
      if (has_mass(extra[i])) pool.add(extra[i].ensemble);
      log_z = pool.log_z();
    }
    if (!is_whole || log_z == -INFINITY) {
      ++report.dev_failed;
      continue;
    }
    const Ensemble& ensemble = outcomes[i].ensemble;
    offset_kl += kl_divergence(ensemble, log_z);
    kl += ensemble.log_z - mean_log_weight(ensemble);  // never negative, as Tally::kl
    ess += ensemble.ess() / options_.particles;
    ++count;
  }
  if (count == 0)
    throw TrainingError("no sequence of it could be sampled: every particle has weight 0");
  report.offset_kl = offset_kl / static_cast<double>(count);
  report.dev_kl = kl / static_cast<double>(count);
  report.dev_ess = ess / static_cast<double>(count);
}

}  // namespace scry
