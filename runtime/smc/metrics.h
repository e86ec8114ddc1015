// How far a sample is from the model (sec:metrics). All in nats.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "runtime/smc/sampler.h"

namespace scry {

/// KL(p̂ ‖ p) for p = exp(G_T / τ − log_z), where τ is the ensemble's temperature. Throws Error if
/// either has no mass.
double kl_divergence(const Ensemble& p_hat, double log_z);

/// The distinct sequences ever drawn for one input (the paper's 𝒴), with their scores.
class ParticlePool {
 public:
  /// Throws Error if the ensemble's sequences have another length than those added before.
  void add(const Ensemble& ensemble);
  size_t size() const { return log_scores_.size(); }
  /// z(x) = log Σ exp(G_T / temperature) over the pool, at most log Z: the same to the last bit in
  /// whatever order the sequences came. -∞ for an empty pool.
  double log_z(double temperature = 1) const;

 private:
  std::map<std::vector<int32_t>, double> log_scores_;  ///< all of one length
};

/// KL(p̂ ‖ p) with the pool's z(x) for log Z: a lower bound of it, and not negative if the pool has
/// every sequence of p̂. Throws Error if p̂ or the pool has no mass.
double offset_kl(const Ensemble& p_hat, const ParticlePool& pool);

/// More of what the pool should hold: for good measure, 2M particles by filtering, independent of
/// the sample that `options` describe (the footnote of sec:metrics). Inputs that fail give nothing.
std::vector<Outcome> sample_extra(Sampler& sampler, std::span<const SampleInput> inputs,
                                  SampleOptions options);
std::vector<Outcome> sample_extra(const Program& program, const Parameters& parameters,
                                  std::span<const SampleInput> inputs, SampleOptions options);

/// ½ Σ |p̂_a(y) − p̂_b(y)|, in [0, 1]. Throws Error if lengths differ or either has no mass.
double total_variation(const Ensemble& a, const Ensemble& b);

/// Σ_t ½ Σ_y |p̂(y_t = y) − p(y_t = y)|, in [0, T]: how many tags of a tagging, on average, the two
/// disagree on if they are coupled as well as single positions allow. `marginals` are p's,
/// [T][|Y|], rows end to end (as tag_marginals has them). Throws Error if the sizes do not fit or p̂
/// has no mass.
double marginal_variation(const Ensemble& p_hat, std::span<const double> marginals, int num_tags);

/// KL(q ‖ p), estimated without bias by the particles of a run that did not resample: log Z less
/// the mean of log w = G_T / τ − log q (eq:sis). +∞ if a particle died: q proposed what p forbids.
/// Throws Error if the ensemble has no particles.
double proposal_kl(const Ensemble& drawn, double log_z);

double to_bits(double nats);

}  // namespace scry
