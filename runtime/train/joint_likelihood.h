// θ by the likelihood of given taggings, or of what is known of them.
#pragma once
#include "runtime/train/observed_sum.h"

namespace scry {

/// log p(x, y) = G_T of a locally normalized model; of incomplete examples log Σ p(x, y) over what
/// the tags may be. Throws ExampleError if a likelihood is above 1.
std::unique_ptr<Objective> make_joint_likelihood(const ObservedSumOptions& options = {});

}  // namespace scry
