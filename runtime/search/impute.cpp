#include "runtime/search/impute.h"

#include <fmt/format.h>

#include "runtime/kernels/philox.h"
#include "runtime/search/exact.h"
#include "runtime/search/search.h"
#include "runtime/smc/memory.h"
#include "runtime/smc/sampler.h"

namespace scry {
namespace {

constexpr int64_t kMaxTaggings = 4096, kMaxStates = int64_t{1} << 20;

uint64_t seed_of(const ImputeOptions& options, int version) {
  return derive_seed(options.seed, static_cast<uint32_t>(version));
}

void add(const Ensemble& ensemble, size_t index, Imputed& imputed) {
  const std::span<const int32_t> tags = ensemble.sequence(index);
  imputed.versions.emplace_back(tags.begin(), tags.end());
}

/// Null where it cannot be had.
std::unique_ptr<Posterior> find_posterior(Sampler& sampler, const SampleInput& input,
                                          const SampleOptions& options) {
  const Program& program = sampler.program();
  if (count_taggings(input, program.task) <= static_cast<double>(kMaxTaggings)) {
    SampleOptions all = options;
    all.max_rows = kMaxTaggings;
    return enumerated_posterior(exact(sampler, input, all), program.num_tags());
  }
  if (!has_finite_states(program)) return nullptr;
  try {
    return finite_posterior(program, sampler.parameters(), input, options);
  } catch (const SamplingError& error) {
    if (error.trouble() == Trouble::kTooManyRows) return nullptr;
    throw;
  }
}

}  // namespace

std::vector<Imputed> impute(const Program& program, const Parameters& parameters,
                            std::span<const SampleInput> inputs, const ImputeOptions& options) {
  if (options.versions < 1)
    throw Error(fmt::format("versions: {}, but at least 1 is needed", options.versions));
  std::vector<Imputed> results(inputs.size());
  Workers workers(options.threads);
  std::vector<std::optional<Sampler>> samplers(static_cast<size_t>(workers.size()));
  const auto draw_exactly = [&](int worker, int64_t i, int64_t bytes) {
    std::optional<Sampler>& sampler = samplers[static_cast<size_t>(worker)];
    if (!sampler) sampler.emplace(program, parameters, 1);
    Imputed& result = results[static_cast<size_t>(i)] = {};
    const SampleOptions exactly{.first_sequence = i, .max_rows = kMaxStates, .memory = bytes};
    try {
      const std::unique_ptr<Posterior> posterior =
          find_posterior(*sampler, inputs[static_cast<size_t>(i)], exactly);
      result.is_exact = posterior != nullptr;
      for (int version = 0; result.is_exact && version < options.versions; ++version)
        add(posterior->draw(1, seed_of(options, version)), 0, result);
    } catch (const SamplingError& error) {
      result.error = error;
      return error.trouble() != Trouble::kTooMuchMemory;
    }
    return true;
  };
  run_in_memory(workers, static_cast<int64_t>(inputs.size()), options.memory, draw_exactly);

  std::vector<SampleInput> others;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (results[i].is_exact || results[i].error) continue;
    others.push_back(inputs[i]);
    numbers.push_back(i);
  }
  Sampler sampler(program, parameters, options.threads);
  SampleOptions sampling{.method = Method::kDiscrete,
                         .particles = options.particles,
                         .tolerance = 0,
                         .error_bar = false,
                         .memory = options.memory};
  if (program.has_proposal()) sampling.method = Method::kDiscreteAhead;
  for (int version = 0; version < options.versions && !others.empty(); ++version) {
    sampling.seed = seed_of(options, version);
    const std::vector<Outcome> outcomes = sampler.sample(others, sampling);
    for (size_t k = 0; k < others.size(); ++k) {
      Imputed& result = results[numbers[k]];
      if (outcomes[k].error) {
        result.error = outcomes[k].error;
      } else if (!result.error) {
        Random random(sampling.seed, static_cast<uint32_t>(numbers[k]), 1);
        add(outcomes[k].ensemble, outcomes[k].ensemble.draw(random), result);
      }
    }
  }
  return results;
}

}  // namespace scry
