// θ by the conditional likelihood of given taggings, exactly, where states are finite.
#pragma once
#include "runtime/train/objective.h"

namespace scry {

/// log p(y | x) = G*_T - log Z of a model with finite states, by sums over the lattices of merged
/// states (lattice_gradient.h), and nothing is drawn. Of incomplete examples log Z(O) - log Z
/// (observed_sum.h), of which the former is the case of one tagging.
std::unique_ptr<Objective> make_exact_likelihood();

/// Whether such sums can be had: the program has finite states, and the lattices of the longest
/// examples, and of some others, have at most 2²¹ arcs each.
bool has_exact_likelihood(const Program& program, const Parameters& parameters,
                          std::span<const TrainExample> examples);

}  // namespace scry
