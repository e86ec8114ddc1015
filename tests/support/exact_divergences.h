// KL(p ‖ q) and KL(q ‖ p) of one input, and their gradients, by enumeration of all its taggings.
#pragma once
#include <cmath>
#include <vector>

#include "tests/support/exact_residuals.h"
#include "tests/support/replay.h"
#include "tests/support/taggings.h"

namespace scry::test {

struct ExactDivergences {
  double inclusive = 0, exclusive = 0;  ///< KL(p ‖ q), KL(q ‖ p)
  double log_z = 0;
  std::vector<std::vector<int>> ys;
  std::vector<double> log_p, log_q;  ///< of each tagging
};

inline ExactDivergences exact_divergences(const Program& program, Parameters& parameters,
                                          const std::vector<int>& x) {
  ExactDivergences exact;
  exact.ys = all_taggings(program.num_tags(), static_cast<int>(x.size()));
  Replay replay(program, parameters);
  double total = 0;
  for (const std::vector<int>& y : exact.ys) {
    const SequenceScore score = replay.run(x, y);
    exact.log_p.push_back(score.log_score);
    exact.log_q.push_back(score.log_proposal);
    total += std::exp(score.log_score);
  }
  exact.log_z = std::log(total);
  for (size_t i = 0; i < exact.ys.size(); ++i) {
    const double log_p = exact.log_p[i] -= exact.log_z, log_q = exact.log_q[i];
    if (log_p > -INFINITY) exact.inclusive += std::exp(log_p) * (log_p - log_q);
    if (log_q > -INFINITY) exact.exclusive += std::exp(log_q) * (log_q - log_p);
  }
  return exact;
}

/// ∇_φ of (1-λ) KL(p ‖ q) + λ KL(q ‖ p) (app:gradient-derivation), all sums over taggings written
/// out, plus μ times that of the mean of r_t² over q as it is. In double precision only the
/// differentiator's rounding is left in it.
inline Gradients exact_gradient(const Program& program, Parameters& parameters,
                                const std::vector<int>& x, double lambda, double mu = 0) {
  const ExactDivergences exact = exact_divergences(program, parameters, x);
  Gradients gradients(program);
  Replay replay(program, parameters);
  for (size_t i = 0; i < exact.ys.size(); ++i) {
    const double p = std::exp(exact.log_p[i]), q = std::exp(exact.log_q[i]);
    if (q == 0) continue;
    replay.run(x, exact.ys[i]);
    const double weight =
        lambda == 0 ? -p : lambda * q * (exact.log_q[i] - exact.log_p[i]) - (1 - lambda) * p;
    replay.add_proposal_gradient(gradients, weight);
  }
  if (mu > 0) {
    std::vector<double> shares;
    for (const double log_q : exact.log_q) shares.push_back(std::exp(log_q));
    AllTaggings(program, parameters, x).add_gradient(parameters, shares, mu, gradients);
  }
  gradients.finish(program, parameters);
  return gradients;
}

}  // namespace scry::test
