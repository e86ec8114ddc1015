// φ by how far q is from p.
#pragma once
#include "runtime/train/objective.h"

namespace scry {

/// (1-λ) KL(p ‖ q) + λ KL(q ‖ p), both estimated from M particles of q (sec:optimization).
/// Remembers the baseline b (app:gradient-derivation).
std::unique_ptr<Objective> make_proposal_divergence(int particles, double lambda);

}  // namespace scry
