#include "runtime/smc/chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/kernels/philox.h"
#include "runtime/smc/resample.h"

namespace scry {
namespace {

/// A draw from the ensemble, for the input with this number.
size_t draw_one(const Ensemble& ensemble, uint64_t seed, int64_t sequence) {
  double uniform = 0;
  fill_uniform(seed, Purpose::kSweep, static_cast<uint32_t>(sequence), 0, {&uniform, 1});
  std::vector<double> weights;
  for (size_t i = 0; i < ensemble.size(); ++i) weights.push_back(ensemble.probability(i));
  int32_t drawn = 0;
  resample(Resampling::kMultinomial, weights, {&uniform, 1}, {&drawn, 1});
  return static_cast<size_t>(drawn);
}

}  // namespace

std::vector<Chain> run_chains(Sampler& sampler, std::span<const SampleInput> inputs,
                              const SampleOptions& options, int num_sweeps) {
  if (num_sweeps < 1) throw Error(fmt::format("sweeps: {}, but at least 1 is needed", num_sweeps));
  std::vector<Chain> chains(inputs.size());
  std::vector<SampleInput> now(inputs.begin(), inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].given.empty() && !inputs[i].x.empty())
      throw Error("a chain needs a given tagging to start from");
    chains[i].state.assign(inputs[i].given.begin(), inputs[i].given.end());
  }
  for (int sweep = 1; sweep <= num_sweeps; ++sweep) {
    SampleOptions mine = options;
    mine.weights = Weights::kSampler;
    mine.seed = derive_seed(options.seed, static_cast<uint32_t>(sweep));
    mine.progress = [&](size_t done) {
      const size_t before = static_cast<size_t>(sweep - 1) * inputs.size();
      if (options.progress) options.progress((before + done) / static_cast<size_t>(num_sweeps));
    };
    for (size_t i = 0; i < inputs.size(); ++i) now[i].given = chains[i].state;
    std::vector<Outcome> outcomes = sampler.sample(now, mine);
    for (size_t i = 0; i < outcomes.size(); ++i) {
      Chain& chain = chains[i];
      if (outcomes[i].error) {
        if (!chain.error) chain.error = std::move(outcomes[i].error);
        continue;
      }
      chain.ensemble = std::move(outcomes[i].ensemble);
      const size_t drawn =
          draw_one(chain.ensemble, mine.seed, options.first_sequence + static_cast<int64_t>(i));
      const std::span<const int32_t> next = chain.ensemble.sequence(drawn);
      chain.log_score = chain.ensemble.log_scores[drawn];
      if (std::equal(next.begin(), next.end(), chain.state.begin(), chain.state.end())) continue;
      ++chain.num_moves;
      chain.state.assign(next.begin(), next.end());
    }
  }
  return chains;
}

}  // namespace scry
