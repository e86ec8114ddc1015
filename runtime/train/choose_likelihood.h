// Is G_T a log-likelihood as it stands?
#pragma once
#include "runtime/train/train.h"

namespace scry {

/// What can be seen of a model's normalization at its first step.
struct FirstStepMass {
  double over_pairs = 0;        ///< Σ_{x,y} exp g(s₀, x, y)
  double over_tags = 0;         ///< the largest Σ_y exp g(s₀, x, y) of any x
  int symbol = 0;               ///< that x
  bool is_joint() const;        ///< p(x_t, y_t | s) sums to 1, or to less
  bool is_conditional() const;  ///< p(y_t | s, x_t) does
};

/// Looks at the first `max_symbols` of the input alphabet, each as an input of length 1.
FirstStepMass measure_first_step(const Program& program, const Parameters& parameters,
                                 int max_symbols = 4096);

/// What is asked for, or what a locally normalized model needs if that is left open. Notes what was
/// chosen and why, and a warning where G_T alone is asked for and is no log-probability.
Likelihood choose_likelihood(const Program& program, const Parameters& parameters, Likelihood asked,
                             const TrainHooks& hooks);

}  // namespace scry
