// θ by the conditional likelihood of given taggings.
#pragma once
#include "runtime/train/objective.h"

namespace scry {

/// log p(y | x) of a globally normalized model, whose gradient ∇G*_T - E_p̂[∇G_T] is taken over a
/// sample of M particles (app:apps): by smoothing with ESS resampling if the program has a
/// proposal, else by filtering.
std::unique_ptr<Objective> make_conditional_likelihood(int particles);

}  // namespace scry
