// One given tagging under a model: its score, its proposal probability, and their gradients.
#pragma once
#include <memory>
#include <span>

#include "runtime/kernels/parameters.h"

namespace scry {

struct SequenceScore {
  double log_score = 0;     ///< G_T (eq:G)
  double log_proposal = 0;  ///< log q(y | x) (eq:q); 0 without a proposal
  double to_go = 0;         ///< Ĥ_0 (eq:Hhat)
};

/// Replays taggings through a program's kernels, keeping every state, and differentiates them
/// backwards.
class Replay {
 public:
  Replay(const Program& program, Parameters& parameters);
  ~Replay();

  /// Where the task has an EOS, its step is a part of all scores. Throws Error if the lengths
  /// differ, a symbol is out of range, or EOS stands before the end.
  SequenceScore run(std::span<const int> x, std::span<const int> y);

  /// Adds the gradient of a·G_T + b·log q(y|x) + c·Ĥ_0 of the last run, for θ and φ. The gradients'
  /// tables are left to Gradients::finish.
  void add_gradient(Gradients& gradients, double a, double b = 0, double c = 0);
  /// Adds the gradient of b·log q(y|x) for φ alone, through c and the right-to-left states.
  void add_proposal_gradient(Gradients& gradients, double b);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scry
