// Incomplete taggings for objectives that need complete ones.
#pragma once
#include "runtime/train/objective.h"

namespace scry {

/// The objective, with each incomplete tagging completed by a draw from p(y | x, what was
/// observed), anew in every update: ∇ log Σ_{y ∈ O} exp G_T is the mean of ∇G_T over such draws
/// (Monte Carlo EM with one draw). They come from discrete sets of M constrained to O. The loss
/// counts the draws' -log p, which on average is above that of what was observed.
std::unique_ptr<Objective> make_imputed(std::unique_ptr<Objective> objective, int particles);

}  // namespace scry
