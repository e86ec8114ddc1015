// φ by how far q is from p, and by how far the lookahead is from consistent.
#pragma once
#include "runtime/train/objective.h"

namespace scry {

/// What is taken off d = log q - G_T in the exclusive gradient (eq:grad), so that it varies less.
/// Either leaves it unbiased.
enum class Baseline : uint8_t {
  /// The mean d of the sequence's other particles; of a single one, the average.
  kLeaveOneOut,
  kAverage,  ///< the paper's moving average over all sequences (app:gradient-derivation)
};

/// "leave-one-out", "average".
const char* name_of(Baseline baseline);

struct DivergenceOptions {
  int particles = 32;    ///< M
  double lambda = 0.5;   ///< of the exclusive divergence
  double calibrate = 1;  ///< μ; 0: r_t is not looked at in training
  Baseline baseline = Baseline::kLeaveOneOut;
};

/// (1-λ) KL(p ‖ q) + λ KL(q ‖ p), both estimated from M particles of q (sec:optimization), plus
/// μ times the mean of r_t² over the prefixes that these visited (residuals.h), which are held as
/// they are. Remembers the moving average of d.
std::unique_ptr<Objective> make_proposal_divergence(const DivergenceOptions& options);

}  // namespace scry
