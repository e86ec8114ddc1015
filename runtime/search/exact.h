// Exact answers where they can be had.
#pragma once
#include "runtime/search/posterior.h"

namespace scry {

/// p(y | x) and log Z exactly. All taggings with their probabilities if there are at most
/// `options.max_rows` of them; else, if the model's states are finite, `options.particles` exact
/// draws by dynamic programming, with log Z and every model_log_probability() exact all the same;
/// else Trouble::kTooManyRows. Uses of `options` besides:
/// temperature, seed, threads, first_sequence, progress.
std::vector<Outcome> exact(const Program& program, const Parameters& parameters,
                           std::span<const SampleInput> inputs, const SampleOptions& options = {});
/// One input. Throws SamplingError. With a sampler, by its program, parameters and threads.
Ensemble exact(Sampler& sampler, const SampleInput& input, const SampleOptions& options = {});
Ensemble exact(const Program& program, const Parameters& parameters, const SampleInput& input,
               const SampleOptions& options = {});

/// log Z of a model with finite states, as sample_finite() has it. Uses of `options`: temperature,
/// first_sequence, memory, max_rows (states of all steps, at most). Throws as viterbi does.
double finite_log_z(const Program& program, const Parameters& parameters, const SampleInput& input,
                    const SampleOptions& options = {});

/// p(y | x) for all that can be asked of it: by all taggings if there are at most
/// `options.max_rows`, else over finite states. Uses of `options` and errors: as exact(). The
/// program must outlive it.
std::unique_ptr<Posterior> exact_posterior(const Program& program, const Parameters& parameters,
                                           const SampleInput& input,
                                           const SampleOptions& options = {});

/// How many taggings the constraints leave; may be +∞.
double count_taggings(const SampleInput& input, const Task& task);

}  // namespace scry
