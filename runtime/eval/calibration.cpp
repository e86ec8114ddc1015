#include "runtime/eval/calibration.h"

#include <cmath>
#include <span>
#include <utility>

#include "runtime/smc/end_of_sequence.h"

namespace scry {
namespace {

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return a == -INFINITY ? a : a + std::log1p(std::exp(b - a));
}

/// H_t of every prefix, of exp(G / τ).
std::vector<double> logprobs_to_go(const Forest& forest, double temperature) {
  const int length = forest.num_levels() - 1;
  std::vector<double> to_go(static_cast<size_t>(forest.size()), -INFINITY);
  for (RowId row = forest.level_begin(length); row < forest.level_end(length); ++row)
    to_go[static_cast<size_t>(row)] = 0;
  for (int t = length; t > 0; --t) {
    for (RowId row = forest.level_begin(t); row < forest.level_end(t); ++row) {
      const RowId parent = forest.parent(row);
      const double score = (forest.log_score(row) - forest.log_score(parent)) / temperature;
      double& sum = to_go[static_cast<size_t>(parent)];
      sum = log_add(sum, score + to_go[static_cast<size_t>(row)]);
    }
  }
  return to_go;
}

/// The variance of values with weights that sum to 1, as they come (West 1979).
class WeightedVariance {
 public:
  void add(double value, double weight) {
    total_ += weight;
    const double step = value - mean_;
    mean_ += step * weight / total_;
    sum_ += weight * step * (value - mean_);
  }
  double value() const { return sum_ / total_; }

 private:
  double total_ = 0, mean_ = 0, sum_ = 0;
};

}  // namespace

Calibration calibration_of(const Forest& forest, double temperature) {
  const int length = forest.num_levels() - 1;
  const std::vector<double> to_go = logprobs_to_go(forest, temperature);
  Calibration mean;
  for (int t = 1; t < length; ++t) {
    WeightedVariance ahead, blind;
    for (RowId row = forest.level_begin(t); row < forest.level_end(t); ++row) {
      const double later = to_go[static_cast<size_t>(row)];
      const double p = std::exp(forest.log_score(row) / temperature + later - to_go[0]);
      if (!(p > 0)) continue;
      ahead.add(forest.compat(row) / temperature - later, p);
      blind.add(-later, p);
    }
    mean.variance += ahead.value() / (length - 1);
    mean.blind_variance += blind.value() / (length - 1);
  }
  return mean;
}

std::vector<CalibrationPoint> calibration_points(const Recording& run, const Batch& batch,
                                                 double temperature, int most) {
  std::vector<CalibrationPoint> points;
  if (most < 1) return points;
  const Forest& forest = run.forest;
  const int length = forest.num_levels() - 1;
  const std::vector<double> to_go = logprobs_to_go(forest, temperature);
  const int stride = (length + most - 1) / most;
  const int parts = most / ((length + stride - 1) / stride);
  for (int t = 0; t < length; t += stride) {
    const size_t first = points.size();
    double below = 0, to_go_mean = 0, lookahead_mean = 0;
    for (RowId row = forest.level_begin(t); row < forest.level_end(t); ++row) {
      const double later = to_go[static_cast<size_t>(row)];
      const double p = std::exp(forest.log_score(row) / temperature + later - to_go[0]);
      if (!(p > 0)) continue;
      const double compat = t == 0 ? batch.root_compat(0) : forest.compat(row);
      const double ahead = (compat + batch.to_go(0, t)) / temperature;
      to_go_mean += p * later;
      lookahead_mean += p * ahead;
      const double met = std::floor((below + p) * parts + 0.5) - std::floor(below * parts + 0.5);
      below += p;
      if (met < 1) continue;
      const double h = batch.to_go(0, t) - batch.to_go(0, t + 1);
      const double r = compat + h - run.log_sums[static_cast<size_t>(run.state_of(row, t))];
      points.push_back({.step = t,
                        .share = met / parts,
                        .to_go = later,
                        .lookahead = ahead,
                        .residual = temperature == 1 && std::isfinite(r) ? r : NAN});
    }
    for (CalibrationPoint& point : std::span(points).subspan(first)) {
      point.to_go_mean = to_go_mean;
      point.lookahead_mean = lookahead_mean;
    }
  }
  return points;
}

/// Fills the recording with every prefix, and its C_t if it is by kBeamAhead: a beam that is wide
/// enough drops only those whose C_t is −∞. False if the run failed otherwise.
bool CalibrationMeter::enumerate(const Job& job, SampleOptions options, Method method,
                                 int64_t max_taggings) {
  options.method = method;
  options.max_rows = max_taggings;
  options.particles = static_cast<int>(max_taggings);
  if (interpreter_) {
    interpreter_->set_options(options);
  } else {
    interpreter_.emplace(program_, parameters_, options);
  }
  interpreter_->run(std::span(&job, 1), &recording_);
  const bool failed = job.outcome->error && job.outcome->error->trouble() != Trouble::kNoMass;
  job.outcome->error.reset();
  return !failed;
}

std::optional<Calibration> CalibrationMeter::measure(const SampleInput& input, size_t num_taggings,
                                                     int64_t max_taggings,
                                                     const SampleOptions& options) {
  has_points_ = false;
  const EndedInputs ended(program_.task, std::span(&input, 1));
  if (ended.front().x.size() < 2) return std::nullopt;
  Outcome outcome;
  const Job job{&ended.front(), options.first_sequence, &outcome};
  bool is_infinite = false;
  if (program_.has_proposal()) {
    if (!enumerate(job, options, Method::kBeamAhead, max_taggings)) return std::nullopt;
    is_infinite = recording_.finals.size() < num_taggings;
  }
  if (!program_.has_proposal() || is_infinite) {
    if (!enumerate(job, options, Method::kEnumerate, max_taggings)) return std::nullopt;
  }
  Calibration calibration = calibration_of(recording_.forest, options.temperature);
  if (is_infinite) calibration.variance = INFINITY;
  temperature_ = options.temperature;
  has_points_ = recording_.keeps_log_sums && !is_infinite;
  return calibration;
}

std::vector<CalibrationPoint> CalibrationMeter::points(int most) const {
  if (!has_points_) return {};
  return calibration_points(recording_, interpreter_->batch(), temperature_, most);
}

}  // namespace scry
