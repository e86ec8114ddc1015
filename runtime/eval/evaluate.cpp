#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "runtime/eval/experiment.h"
#include "runtime/eval/reference.h"
#include "runtime/smc/check_input.h"
#include "runtime/smc/memory.h"

namespace scry {
namespace {

/// What one run on one input gave. NaN: nothing to tell.
struct RunNumbers {
  double log_z = NAN;  ///< log Ẑ; −∞ without mass; NaN if it is no estimate, or none was found
  double excess = NAN;  ///< KL(p̂ ‖ p) − log Z
  double marginals = NAN, ess_share = NAN, taggings = NAN;
  double proposal_excess = NAN;  ///< KL(q ‖ p) − log Z
};

/// One configuration at one M: what was gathered of the parts so far.
struct Cell {
  EvalRow row;
  std::array<MeanOverInputs, kNumMeasures> means;
  double seconds = 0;
  int64_t num_timed = 0;                         // inputs × runs
  std::vector<std::vector<RunNumbers>> numbers;  // of the part at hand: [input][run]

  const MethodRow& method() const { return row_of(row.configuration.method); }
  bool is_exact() const { return row.configuration.method == Method::kExact; }
};

RunNumbers measure(const Ensemble& p_hat, const Cell& cell, const Reference& reference,
                   int num_tags) {
  RunNumbers numbers;
  const MethodRow& method = cell.method();
  if (!cell.is_exact()) numbers.log_z = p_hat.log_z;
  numbers.excess = kl_divergence(p_hat, 0);
  if (reference.kind != Reference::Kind::kNone)
    numbers.marginals = marginal_variation(p_hat, reference.marginals, num_tags);
  if (method.log_z != LogZ::kLowerBound) numbers.ess_share = p_hat.ess() / cell.row.particles;
  numbers.taggings = static_cast<double>(std::ranges::count_if(
      p_hat.log_weights, [](double log_weight) { return log_weight > -INFINITY; }));
  const Configuration& how = cell.row.configuration;
  if (method.selects == Selects::kDraws && how.trigger == Trigger::kNever &&
      how.weights == Weights::kSampler)
    numbers.proposal_excess = proposal_kl(p_hat, 0);
  return numbers;
}

/// In bits. It cannot be negative, but for rounding: where it is, scores do not fit the reference,
/// and nothing can be told.
double kl_of(double excess, double log_z) {
  const double nats = excess + log_z;
  return nats < -1e-5 * (1 + std::abs(log_z)) ? NAN : to_bits(std::max(0.0, nats));
}

/// Adds one input, of which `log_z` is the reference's and `bound` at most that.
void add_input(Cell& cell, const std::vector<RunNumbers>& runs, const Reference& reference,
               double log_z, double bound) {
  EvalRow& row = cell.row;
  const auto num_found =
      std::ranges::count_if(runs, [](const RunNumbers& run) { return !std::isnan(run.excess); });
  const auto num_empty =
      std::ranges::count_if(runs, [](const RunNumbers& run) { return run.log_z == -INFINITY; });
  row.empty_runs += num_empty;
  if (cell.is_exact() && reference.kind == Reference::Kind::kNone) return;  // nothing to draw from
  if (num_found > 0) {
    ++row.inputs;
    row.exact_references += reference.is_exact() ? 1 : 0;
    row.references += reference.kind != Reference::Kind::kNone ? 1 : 0;
  } else {
    ++row.failed_inputs;
  }
  std::vector<double> values(runs.size());
  const auto add = [&](Measure measure, auto value_of) {
    std::ranges::transform(runs, values.begin(), value_of);
    cell.means[static_cast<size_t>(measure)].add(values);
  };
  add(Measure::kKl, [&](const RunNumbers& run) { return kl_of(run.excess, log_z); });
  add(Measure::kOffsetKl, [&](const RunNumbers& run) { return kl_of(run.excess, bound); });
  add(Measure::kRatio, [&](const RunNumbers& run) { return std::exp(run.log_z - log_z); });
  add(Measure::kMarginals, [](const RunNumbers& run) { return run.marginals; });
  add(Measure::kEss, [](const RunNumbers& run) { return run.ess_share; });
  add(Measure::kTaggings, [](const RunNumbers& run) { return run.taggings; });
  add(Measure::kProposalKl,
      [&](const RunNumbers& run) { return to_bits(run.proposal_excess + log_z); });
  // Of runs that found something.
  const auto log_z_hat = [](const RunNumbers& run) {
    return run.log_z == -INFINITY ? NAN : run.log_z;
  };
  add(Measure::kBias, [&](const RunNumbers& run) { return log_z_hat(run) - log_z; });
  add(Measure::kRmse, [&](const RunNumbers& run) { return std::pow(log_z_hat(run) - log_z, 2); });
  std::ranges::transform(runs, values.begin(), &RunNumbers::log_z);
  cell.means[static_cast<size_t>(Measure::kDeviation)].add(squared_deviations(values));
}

class Evaluation {
 public:
  Evaluation(const Program& program, const Parameters& parameters,
             std::span<const SampleInput> inputs, const Experiment& experiment)
      : program_(program),
        inputs_(inputs),
        experiment_(experiment),
        sampler_(program, parameters, experiment.sampling.threads),
        references_(sampler_, experiment, inputs.size()) {
    const std::vector<Configuration> configurations =
        experiment.configurations.empty() ? default_configurations(program.has_proposal())
                                          : experiment.configurations;
    check(configurations);
    for (int particles : experiment.particles) {
      for (const Configuration& configuration : configurations) {
        Cell& cell = cells_.emplace_back();
        cell.row.configuration = configuration;
        cell.row.particles = particles;
        cell.row.runs = row_of(configuration.method).is_random ? experiment.runs : 1;
        work_per_input_ += static_cast<double>(cell.row.runs) * particles;
      }
    }
  }

  EvalTable run() {
    table_.num_inputs = static_cast<int>(inputs_.size());
    table_.has_lookahead = program_.has_proposal();
    table_.runs = experiment_.runs;
    table_.temperature = experiment_.sampling.temperature;
    table_.seed = experiment_.sampling.seed;
    table_.threads = sampler_.num_threads();
    for (size_t first = 0, count = 0; first < inputs_.size(); first += count) {
      count = count_part(first);
      run_part(first, inputs_.subspan(first, count));
    }
    return finish();
  }

 private:
  void check(std::span<const Configuration> configurations) const {
    if (experiment_.runs < 1)
      throw Error(fmt::format("runs: {}, but at least 1 is needed", experiment_.runs));
    if (experiment_.calibration_points < 0)
      throw Error(fmt::format("calibration_points: {}, but it must be at least 0",
                              experiment_.calibration_points));
    if (experiment_.particles.empty()) throw Error("particles: there must be at least one M");
    if (experiment_.max_taggings < 0 || experiment_.max_taggings > int64_t{1} << 28)
      throw Error(
          fmt::format("max_taggings: {}, but it must be from 0 to 2^28", experiment_.max_taggings));
    SampleOptions options = experiment_.sampling;
    options.particles = experiment_.reference_particles;
    check_options(options);
    for (int particles : experiment_.particles) {
      options.particles = particles;
      check_options(options);
    }
    for (const Configuration& configuration : configurations) {
      if (row_of(configuration.method).needs_lookahead() && !program_.has_proposal())
        throw Error(
            fmt::format("{} needs a lookahead, and the model has no proposal", configuration.name));
    }
  }

  /// How many inputs from `first` on are evaluated together: those whose references, samples and
  /// numbers a quarter of the memory holds.
  size_t count_part(size_t first) const {
    constexpr size_t kMost = 256;
    const int64_t memory = experiment_.sampling.memory;
    const double most = static_cast<double>(memory > 0 ? memory : default_memory()) / 4;
    double runs = 0, drawn = 0, widest = 0;
    for (const Cell& cell : cells_) {
      runs += cell.row.runs;
      drawn += static_cast<double>(cell.row.runs) * cell.row.particles;
      widest = std::max<double>(widest, cell.row.particles);
    }
    double bytes = 0;
    size_t count = 0;
    for (; count < std::min(kMost, inputs_.size() - first); ++count) {
      const SampleInput& input = inputs_[first + count];
      const auto length = static_cast<double>(input.x.size());
      const double tagging = 4 * length + 100;
      bytes += 8 * length * program_.num_tags() + runs * sizeof(RunNumbers) + widest * tagging;
      if (!references_.expects_exact(input))
        bytes += (2 * drawn + 4.0 * experiment_.reference_particles) * tagging;
      if (bytes > most && count > 0) break;
    }
    return count;
  }

  void run_part(size_t first, std::span<const SampleInput> part) {
    for (Cell& cell : cells_) {
      cell.numbers.assign(part.size(), std::vector<RunNumbers>(static_cast<size_t>(cell.row.runs)));
    }
    std::vector<std::unique_ptr<ParticlePool>> pools;
    const std::vector<Reference> references =
        references_.make(part, static_cast<int64_t>(first), pools,
                         [&](size_t i, const Posterior& posterior, const Reference& reference) {
                           draw_exactly(i, posterior, reference);
                         });
    const bool has_pools =
        std::ranges::any_of(pools, [](const auto& pool) { return pool != nullptr; });
    double done = 0;
    for (Cell& cell : cells_) {
      if (!cell.is_exact()) sample(cell, first, part, references, pools);
      done += static_cast<double>(cell.row.runs) * cell.row.particles;
      report(static_cast<double>(first) +
             static_cast<double>(part.size()) * done / work_per_input_);
    }
    if (has_pools) add_extra(first, part, pools);
    for (size_t i = 0; i < part.size(); ++i) settle(first + i, i, references[i], pools[i].get());
  }

  /// From many threads.
  void draw_exactly(size_t i, const Posterior& posterior, const Reference& reference) {
    for (Cell& cell : cells_) {
      if (!cell.is_exact()) continue;
      for (int run = 0; run < cell.row.runs; ++run) {
        Ensemble drawn = posterior.draw(cell.row.particles, seed_of(run));
        if (cell.row.configuration.weights == Weights::kScore) weigh_by_score(drawn);
        cell.numbers[i][static_cast<size_t>(run)] =
            measure(drawn, cell, reference, program_.num_tags());
      }
    }
  }

  uint64_t seed_of(int run) const {
    return derive_seed(experiment_.sampling.seed, static_cast<uint32_t>(run));
  }

  SampleOptions options_of(const EvalRow& row, int run, size_t first) const {
    SampleOptions options = experiment_.sampling;
    options.method = row.configuration.method;
    options.trigger = row.configuration.trigger;
    options.draws = row.configuration.draws;
    options.weights = row.configuration.weights;
    options.particles = row.particles;
    options.seed = seed_of(run);
    options.first_sequence = static_cast<int64_t>(first);
    options.error_bar = false;
    options.progress = {};
    return options;
  }

  void sample(Cell& cell, size_t first, std::span<const SampleInput> part,
              const std::vector<Reference>& references,
              std::vector<std::unique_ptr<ParticlePool>>& pools) {
    if (cell.num_timed == 0) warm_up(cell, part.first(1));
    for (int run = 0; run < cell.row.runs; ++run) {
      const SampleOptions options = options_of(cell.row, run, first);
      const auto start = std::chrono::steady_clock::now();
      const std::vector<Outcome> outcomes = sampler_.sample(part, options);
      cell.seconds +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      cell.num_timed += static_cast<int64_t>(part.size());
      for (size_t i = 0; i < part.size(); ++i) {
        if (!references[i].trouble.empty()) continue;
        RunNumbers& numbers = cell.numbers[i][static_cast<size_t>(run)];
        if (!outcomes[i].error) {
          numbers = measure(outcomes[i].ensemble, cell, references[i], program_.num_tags());
          if (pools[i] != nullptr) pools[i]->add(outcomes[i].ensemble);
        } else if (outcomes[i].error->trouble() == Trouble::kNoMass) {
          numbers.log_z = -INFINITY;
        }
      }
    }
  }

  /// The sampler's first call finds kernels' slots, which is not the method's time.
  void warm_up(const Cell& cell, std::span<const SampleInput> one) {
    SampleOptions options = options_of(cell.row, 0, 0);
    options.particles = 1;
    sampler_.sample(one, options);
  }

  /// For good measure, 2M particles by filtering for each run with M that looks ahead (the footnote
  /// of sec:metrics); once for all configurations, as their seeds are the same.
  void add_extra(size_t first, std::span<const SampleInput> part,
                 std::vector<std::unique_ptr<ParticlePool>>& pools) {
    const auto has_pool = [&](size_t i) { return pools[i] != nullptr; };
    for (int particles : experiment_.particles) {
      const auto looks_ahead = [&](const Cell& cell) {
        return cell.row.particles == particles && cell.method().looks_ahead();
      };
      const auto cell = std::ranges::find_if(cells_, looks_ahead);
      if (cell == cells_.end() || !program_.has_proposal()) continue;
      for (int run = 0; run < cell->row.runs; ++run) {
        for_each_stretch(part.size(), has_pool, [&](size_t begin, size_t count) {
          SampleOptions options = options_of(cell->row, run, first + begin);
          options.trigger = Trigger::kAuto;
          options.draws = Draws::kIndependent;
          options.weights = Weights::kSampler;
          const std::vector<Outcome> extra =
              sample_extra(sampler_, part.subspan(begin, count), options);
          for (size_t i = 0; i < count; ++i) {
            if (!extra[i].error) pools[begin + i]->add(extra[i].ensemble);
          }
        });
      }
    }
  }

  /// All that there is of an input has been sampled.
  void settle(size_t input, size_t i, const Reference& reference, const ParticlePool* pool) {
    if (!reference.trouble.empty()) {
      table_.left_out.push_back({input, reference.trouble});
      return;
    }
    double log_z = reference.log_z, bound = reference.log_z;
    if (pool != nullptr && !reference.is_exact()) {
      bound = pool->log_z(experiment_.sampling.temperature);  // −∞ if nothing was found
      if (bound == -INFINITY) bound = NAN;
      if (reference.kind == Reference::Kind::kEstimated && bound > log_z) {
        ++table_.num_raised;  // Z is at least the sum over what was found
        log_z = bound;
      }
    }
    switch (reference.kind) {
      case Reference::Kind::kNone:
        ++table_.num_without_reference;
        break;
      case Reference::Kind::kEnumerated:
        ++table_.num_enumerated;
        break;
      case Reference::Kind::kFinite:
        ++table_.num_finite;
        break;
      case Reference::Kind::kEstimated:
        ++table_.num_estimated;
        reference_squares_.add(std::vector{reference.log_z_error * reference.log_z_error});
        break;
    }
    if (reference.calibration) {
      ++table_.lookahead.inputs;
      calibration_.add(std::vector{reference.calibration->variance});
      blind_calibration_.add(std::vector{reference.calibration->blind_variance});
      for (CalibrationPoint point : reference.points) {
        point.input = input;
        table_.calibration_points.push_back(point);
      }
    }
    for (Cell& cell : cells_) add_input(cell, cell.numbers[i], reference, log_z, bound);
  }

  EvalTable finish() {
    for (Cell& cell : cells_) {
      for (size_t m = 0; m < kNumMeasures; ++m) {
        const auto measure = static_cast<Measure>(m);
        const MeanOverInputs& mean = cell.means[m];
        cell.row.values[m] = measure == Measure::kDeviation || measure == Measure::kRmse
                                 ? mean.root()
                             : measure == Measure::kRatio ? mean.estimate_over_runs()
                                                          : mean.estimate();
      }
      if (cell.num_timed > 0)
        cell.row.seconds_per_input = cell.seconds / static_cast<double>(cell.num_timed);
      table_.rows.push_back(std::move(cell.row));
    }
    table_.lookahead.deviation = calibration_.root();
    table_.lookahead.blind_deviation = blind_calibration_.root();
    table_.reference_error = reference_squares_.root();
    if (table_.num_estimated > 0) table_.estimated_by = references_.describe_large_set();
    return std::move(table_);
  }

  void report(double inputs_done) const {
    if (experiment_.progress)
      experiment_.progress(inputs_done / static_cast<double>(inputs_.size()));
  }

  const Program& program_;
  std::span<const SampleInput> inputs_;
  const Experiment& experiment_;
  Sampler sampler_;
  ReferenceMaker references_;
  std::vector<Cell> cells_;
  double work_per_input_ = 0;
  MeanOverInputs calibration_, blind_calibration_, reference_squares_;
  EvalTable table_;
};

}  // namespace

EvalTable evaluate(const Program& program, const Parameters& parameters,
                   std::span<const SampleInput> inputs, const Experiment& experiment) {
  return Evaluation(program, parameters, inputs, experiment).run();
}

}  // namespace scry
