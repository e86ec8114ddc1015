#include "runtime/eval/measures.h"

#include <algorithm>

#include "runtime/smc/error_bar.h"

namespace scry {
namespace {

constexpr std::array<MeasureRow, kNumMeasures> kTable{{
    {Measure::kKl, "kl_bits", "KL bits",
     "how far the sample as a whole is from the model: KL(p̂‖p), bits a sequence; 0 is perfect",
     true},
    {Measure::kOffsetKl, "offset_kl_bits", "offset KL",
     "the same with the sum over all taggings that were met for Z: a lower bound, in bits", true},
    {Measure::kDeviation, "sd_log_z", "sd log Ẑ",
     "how much the estimate of log Z differs from run to run, in nats", true},
    {Measure::kBias, "bias_log_z", "bias",
     "the mean of log Ẑ − log Z, in nats: a bit below 0 although Ẑ is unbiased, as it varies",
     true},
    {Measure::kRmse, "rmse_log_z", "RMSE", "the root mean square of log Ẑ − log Z, in nats", false},
    {Measure::kRatio, "z_ratio", "Ẑ/Z", "its mean: 1 if Ẑ is unbiased; ± over runs alone", false},
    {Measure::kMarginals, "marginals_tv", "marginals",
     "how wrong the probabilities of single tags are: Σ_t ½ Σ_y |p̂(y_t) − p(y_t)|, at most T",
     true},
    {Measure::kEss, "ess_share", "ESS/M",
     "the share of the particles that count, where there are particles", true},
    {Measure::kTaggings, "taggings", "taggings", "distinct taggings in the sample", false},
    {Measure::kProposalKl, "proposal_kl_bits", "KL(q‖p)",
     "how far what proposes is from the model, in bits; where nothing resamples", true},
}};

constexpr bool is_in_order() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<size_t>(kTable[i].measure) != i) return false;
  }
  return true;
}
static_assert(is_in_order());

}  // namespace

std::span<const MeasureRow> measure_table() { return kTable; }

void MeanOverInputs::add(std::span<const double> runs) {
  double sum = 0, num_runs = 0;
  for (double value : runs) {
    if (std::isnan(value)) continue;
    sum += value;
    ++num_runs;
  }
  if (num_runs == 0) return;
  const double mean = sum / num_runs;
  ++count_;
  if (!std::isfinite(mean)) {
    infinite_ = mean;
    return;
  }
  const double step = mean - mean_;
  mean_ += step / count_;
  squares_ += step * (mean - mean_);
  if (num_runs < 2) return;
  double squares = 0;
  for (double value : runs) {
    if (!std::isnan(value)) squares += (value - mean) * (value - mean);
  }
  run_variance_ += squares / (num_runs - 1) / num_runs;
  ++num_with_runs_;
  degrees_ += num_runs - 1;
}

Estimate MeanOverInputs::estimate() const {
  if (count_ == 0) return {};
  if (infinite_ != 0) return {infinite_, NAN};
  if (count_ == 1) return estimate_over_runs();
  const double degrees = count_ - 1;
  return {mean_, std::sqrt(squares_ / degrees / count_) * student_widening(degrees)};
}

Estimate MeanOverInputs::estimate_over_runs() const {
  if (count_ == 0) return {};
  if (infinite_ != 0) return {infinite_, NAN};
  if (num_with_runs_ < count_) return {mean_, NAN};
  return {mean_, std::sqrt(run_variance_) / count_ * student_widening(degrees_)};
}

Estimate MeanOverInputs::root() const {
  Estimate mean = estimate();
  const double root = std::sqrt(std::max(0.0, mean.value));
  return {std::isnan(mean.value) ? NAN : root, root > 0 ? mean.error / (2 * root) : mean.error};
}

std::vector<double> squared_deviations(std::span<const double> runs) {
  std::vector<double> squares(runs.size(), NAN);
  const auto count = static_cast<double>(runs.size());
  double mean = 0;
  for (double value : runs) mean += value / count;
  if (runs.size() < 2 || !std::isfinite(mean)) return squares;
  for (size_t r = 0; r < runs.size(); ++r)
    squares[r] = (runs[r] - mean) * (runs[r] - mean) * count / (count - 1);
  return squares;
}

}  // namespace scry
