#include "runtime/eval/reference.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "runtime/search/exact.h"
#include "runtime/search/search.h"
#include "runtime/smc/check_input.h"
#include "runtime/smc/end_of_sequence.h"
#include "runtime/smc/memory.h"

namespace scry {
namespace {

/// Of an estimate. With fewer, sets that happen to be equal would often pass for sure ones.
constexpr uint32_t kNumSets = 4;

std::vector<double> flattened(const RealMatrix<double>& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

std::string explain(const SamplingError& error) {
  return error.step() == 0 ? error.message()
                           : fmt::format("step {}: {}", error.step(), error.message());
}

}  // namespace

struct ReferenceMaker::Tools {
  Sampler sampler;
  CalibrationMeter meter;
};

ReferenceMaker::ReferenceMaker(Sampler& sampler, const Experiment& experiment, size_t num_inputs)
    : sampler_(sampler),
      experiment_(experiment),
      num_inputs_(static_cast<int64_t>(num_inputs)),
      workers_(experiment.sampling.threads) {}

/// Of which calibration this input tells, at most: some inputs with many prefixes each, evenly over
/// all of them.
int ReferenceMaker::num_points(int64_t sequence) const {
  constexpr int64_t kMostInputs = 64;
  const int64_t stride = (num_inputs_ + kMostInputs - 1) / kMostInputs;
  if (experiment_.calibration_points == 0 || sequence % stride != 0) return 0;
  return static_cast<int>(experiment_.calibration_points / ((num_inputs_ + stride - 1) / stride));
}

bool ReferenceMaker::expects_exact(const SampleInput& input) const {
  const Program& program = sampler_.program();
  if (experiment_.max_states > 0 && has_finite_states(program)) return true;
  const TagSets& allowed = input.allowed;
  const bool fits = allowed.empty() || (allowed.num_tags() == program.num_tags() &&
                                        allowed.length() >= static_cast<int>(input.x.size()));
  // Constraints of another size are an error to come, of which nothing is sampled.
  return !fits ||
         count_taggings(input, program.task) <= static_cast<double>(experiment_.max_taggings);
}

std::vector<Reference> ReferenceMaker::make(std::span<const SampleInput> inputs, int64_t first,
                                            std::vector<std::unique_ptr<ParticlePool>>& pools,
                                            const AtPosterior& at_posterior) {
  std::vector<Reference> references(inputs.size());
  std::vector<std::unique_ptr<Tools>> tools(static_cast<size_t>(workers_.size()));
  const auto num_inputs = static_cast<int64_t>(inputs.size());
  run_in_memory(
      workers_, num_inputs, experiment_.sampling.memory,
      [&](int worker, int64_t number, int64_t bytes) {
        const auto i = static_cast<size_t>(number);
        std::unique_ptr<Tools>& mine = tools[static_cast<size_t>(worker)];
        if (mine == nullptr) {
          const Program& program = sampler_.program();
          const Parameters& parameters = sampler_.parameters();
          mine.reset(
              new Tools{Sampler(program, parameters, 1),
                        CalibrationMeter(program, parameters, experiment_.calibration_points > 0)});
        }
        references[i] = {};
        return make_exact(*mine, inputs[i], first + number, bytes, i, at_posterior, references[i]);
      });
  pools.clear();
  pools.resize(inputs.size());
  const auto needs_estimate = [&](size_t i) {
    return references[i].trouble.empty() && !references[i].is_exact();
  };
  for_each_stretch(inputs.size(), needs_estimate, [&](size_t begin, size_t count) {
    for (size_t i = begin; i < begin + count; ++i) pools[i] = std::make_unique<ParticlePool>();
    estimate(inputs.subspan(begin, count), first + static_cast<int64_t>(begin),
             std::span(pools).subspan(begin, count), std::span(references).subspan(begin, count),
             begin, at_posterior);
  });
  return references;
}

/// What configurations may vary is as by default here.
SampleOptions ReferenceMaker::options_for(int64_t first, int64_t memory) const {
  const SampleOptions& given = experiment_.sampling;
  return {.tolerance = 0,
          .temperature = given.temperature,
          .seed = given.seed,
          .error_bar = false,
          .threads = given.threads,
          .batch = given.batch,
          .first_sequence = first,
          .memory = memory};
}

/// False if the memory was too little.
bool ReferenceMaker::make_exact(Tools& tools, const SampleInput& input, int64_t sequence,
                                int64_t memory, size_t i, const AtPosterior& at_posterior,
                                Reference& reference) {
  const Program& program = sampler_.program();
  SampleOptions options = options_for(sequence, memory);
  try {
    const EndedInputs ended(program.task, std::span(&input, 1));
    check_input(program, ended.front(), sequence);
    std::unique_ptr<Posterior> posterior;
    if (count_taggings(input, program.task) <= static_cast<double>(experiment_.max_taggings)) {
      options.method = Method::kEnumerate;
      options.max_rows = experiment_.max_taggings;
      Ensemble all = tools.sampler.sample(input, options);
      reference.calibration =
          tools.meter.measure(input, all.size(), experiment_.max_taggings, options);
      reference.points = tools.meter.points(num_points(sequence));
      posterior = enumerated_posterior(std::move(all), program.num_tags());
      reference.kind = Reference::Kind::kEnumerated;
    } else if (experiment_.max_states > 0 && has_finite_states(program)) {
      options.max_rows = experiment_.max_states;
      posterior = finite_posterior(program, sampler_.parameters(), input, options);
      reference.kind = Reference::Kind::kFinite;
    } else {
      return true;
    }
    reference.log_z = posterior->log_z();
    reference.marginals = flattened(posterior->tag_marginals());
    at_posterior(i, *posterior, reference);
  } catch (const SamplingError& error) {
    reference.kind = Reference::Kind::kNone;
    if (error.trouble() == Trouble::kTooManyRows) return true;
    reference.trouble = explain(error);
    if (error.trouble() == Trouble::kTooMuchMemory)
      reference.trouble += "; with --max-rows 0 --max-states 0 its reference is an estimate";
    return error.trouble() != Trouble::kTooMuchMemory;
  }
  return true;
}

std::string ReferenceMaker::describe_large_set() const {
  return fmt::format("{} runs of {} with M = {}", kNumSets, row_of(Method::kDiscrete).name,
                     experiment_.reference_particles);
}

/// By two independent sets, whose difference tells how sure they are. The first of the inputs is
/// the part's input `begin`.
void ReferenceMaker::estimate(std::span<const SampleInput> inputs, int64_t first,
                              std::span<const std::unique_ptr<ParticlePool>> pools,
                              std::span<Reference> references, size_t begin,
                              const AtPosterior& at_posterior) {
  SampleOptions options = options_for(first, experiment_.sampling.memory);
  options.method = sampler_.program().has_proposal() ? Method::kDiscreteAhead : Method::kDiscrete;
  options.particles = experiment_.reference_particles;
  std::vector<Outcome> sets[kNumSets];
  for (uint32_t run = 0; run < kNumSets; ++run) {  // with seeds that no other run has
    options.seed = derive_seed(experiment_.sampling.seed, UINT32_MAX - 1 - run);
    sets[run] = sampler_.sample(inputs, options);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    Reference& reference = references[i];
    std::vector<Ensemble> found;
    std::vector<double> log_z;
    for (std::vector<Outcome>& set : sets) {
      const std::optional<SamplingError>& error = set[i].error;
      if (!error) {
        pools[i]->add(set[i].ensemble);
        log_z.push_back(set[i].ensemble.log_z);
        found.push_back(std::move(set[i].ensemble));
      } else if (error->trouble() != Trouble::kTooMuchMemory) {
        reference.trouble = explain(*error);
      }
    }
    if (found.size() < kNumSets || !reference.trouble.empty()) continue;
    const bool is_whole = found[0].certainty == Certainty::kExact;
    double variance = 0;
    for (double square : squared_deviations(log_z)) variance += square / kNumSets;
    const std::unique_ptr<Posterior> both =
        enumerated_posterior(pool_runs(found), sampler_.program().num_tags());
    reference.kind = is_whole ? Reference::Kind::kEnumerated : Reference::Kind::kEstimated;
    reference.log_z = both->log_z();
    reference.log_z_error = std::sqrt(variance / kNumSets);
    reference.marginals = flattened(both->tag_marginals());
    at_posterior(begin + i, *both, reference);
  }
}

void for_each_stretch(size_t count, const std::function<bool(size_t i)>& holds,
                      const std::function<void(size_t first, size_t count)>& run) {
  for (size_t first = 0, last = 0; first < count; first = last + 1) {
    for (last = first; last < count && holds(last);) ++last;
    if (last > first) run(first, last - first);
  }
}

}  // namespace scry
