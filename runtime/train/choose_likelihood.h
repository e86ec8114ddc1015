// Is G_T a log-likelihood as it stands?
#pragma once
#include "runtime/train/train.h"

namespace scry {

/// Σ exp g at prefixes of the data, each reached along a given tagging.
struct StepMass {
  /// The most (or least) of any prefix, and where: before `step` of the example of this number.
  struct Extreme {
    double mass;
    int64_t example = 0;
    int step = 0;
  };
  Extreme most_tags{0};          ///< Σ_y exp g(s, x_t, y); NaN if that was seen
  Extreme least_tags{INFINITY};  ///< likewise, of prefixes after which no tag is forbidden
  Extreme most_pairs{0}, least_pairs{INFINITY};  ///< Σ_{x,y} exp g(s, x, y), of prefixes up to 256
  int64_t num_prefixes = 0, num_with_forbidden = 0;
  /// Of which the pairs' mass was taken; none if the model reads all of x first, and so gives it no
  /// probability.
  int64_t num_pair_prefixes = 0;
  int num_symbols = 0;  ///< of the input alphabet, over which

  /// p(x_t, y_t | s) sums to 1, or to less: a pair may be forbidden, or end the sequence.
  bool is_joint() const;
  /// p(y_t | s, x_t) does, to less only where a tag is forbidden.
  bool is_conditional() const;
  bool is_local() const { return is_joint() || is_conditional(); }
};

/// Follows some of the examples, spread over all; `turn` says which, so that many turns see many.
/// Costs about as much as scoring 64 short examples.
StepMass measure_mass(const Program& program, const Parameters& parameters,
                      std::span<const TrainExample> examples, int turn = 0);

/// What is asked for, or what a locally normalized model needs if that is left open. Notes what was
/// chosen and why, and a warning where G_T alone is asked for and is no log-probability.
/// Unless `may_be_exact`, kConditional stays it where states are finite.
Likelihood choose_likelihood(const Program& program, const Parameters& parameters,
                             std::span<const TrainExample> examples, Likelihood asked,
                             const TrainHooks& hooks, bool may_be_exact = true);

/// Throws ExampleError if the model turns out not to be locally normalized.
void check_normalization(const Program& program, const Parameters& parameters,
                         std::span<const TrainExample> examples, int turn);

}  // namespace scry
