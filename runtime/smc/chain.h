// Particle Gibbs: chains of taggings that leave p(y | x) as it is, for every M.
#pragma once
#include "runtime/smc/sampler.h"

namespace scry {

/// One input's chain after some sweeps.
struct Chain {
  std::vector<int32_t> state;  ///< the tagging that it is at
  double log_score = 0;        ///< G_T of it
  /// Of the last sweep: `state` is a draw from it. Its log Z is as if the tagging before had been
  /// found, and no unbiased estimate.
  Ensemble ensemble;
  int num_moves = 0;  ///< sweeps that came to another tagging
  std::optional<SamplingError> error;
};

/// Starts at the inputs' given taggings. A sweep retains the tagging it is at, samples as the
/// options say (filter and smooth: conditional SMC with ancestor sampling; discrete: the
/// conditional discrete set), and goes on to a draw from the ensemble. If the given tagging is a
/// draw of p(y | x), so is every state after it; from any other the chain comes to p(y | x) by and
/// by, the faster the larger M is. A pure function of the options' seed, the inputs' numbers and
/// the number of sweeps; fewer sweeps are the beginning of more. An input without a given tagging
/// is an error of the caller.
std::vector<Chain> run_chains(Sampler& sampler, std::span<const SampleInput> inputs,
                              const SampleOptions& options, int num_sweeps);

}  // namespace scry
