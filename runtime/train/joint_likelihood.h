// θ by the likelihood of given taggings.
#pragma once
#include "runtime/train/objective.h"

namespace scry {

/// log p(x, y) = G_T of a locally normalized model. Throws ExampleError if a likelihood is above 1.
std::unique_ptr<Objective> make_joint_likelihood();

}  // namespace scry
