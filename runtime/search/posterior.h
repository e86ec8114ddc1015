// p(y | x) itself, where it can be had: what samples are measured against.
#pragma once
#include <memory>
#include <vector>

#include "runtime/smc/sampler.h"

namespace scry {

/// Of one input and temperature, exactly.
class Posterior {
 public:
  virtual ~Posterior() = default;
  /// Of exp(G_T / τ).
  virtual double log_z() const = 0;
  /// p(y_t = tag | x), [T, |Y|]; include <Eigen/Core> to use it.
  virtual RealMatrix<double> tag_marginals() const = 0;
  /// p(y_{t-1} = a, y_t = b | x), [|Y|, |Y|] for each t from 2 to T.
  virtual std::vector<RealMatrix<double>> transition_marginals() const = 0;
  /// Of p(y | x), in nats: -Σ_y p log p. Never below 0.
  virtual double entropy() const = 0;
  /// Independent draws. The ensemble's weights are shares of the draws: probability(i) is count /
  /// M, model_log_probability(i) is log p(y | x) itself. Draw m depends on the seed, the input's
  /// number and m alone.
  virtual Ensemble draw(int particles, uint64_t seed) const = 0;
};

/// By all taggings, as exact() or enumerate() finds them; or by a weighted set that is taken for
/// all.
std::unique_ptr<Posterior> enumerated_posterior(Ensemble all, int num_tags);

/// By dynamic programming over the distinct states of each step, whatever T is. Throws Error if the
/// states are not finite, SamplingError as viterbi does. Uses of `options`: temperature,
/// first_sequence, memory, max_rows (states of all steps, at most). The program must outlive it.
std::unique_ptr<Posterior> finite_posterior(const Program& program, const Parameters& parameters,
                                            const SampleInput& input, const SampleOptions& options);

}  // namespace scry
