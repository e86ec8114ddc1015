// The oracle of training: one given tagging at a time, one position after the other, through a
// program's kernels; its score, its proposal probability, and their gradients.
#pragma once
#include <memory>
#include <span>

#include "runtime/kernels/parameters.h"

namespace scry::test {

struct SequenceScore {
  double log_score = 0;     ///< G_T (eq:G)
  double log_proposal = 0;  ///< log q(y | x) (eq:q); 0 without a proposal
  double to_go = 0;         ///< Ĥ_0 (eq:Hhat)
};

/// Keeps every state, and differentiates backwards.
class Replay {
 public:
  Replay(const Program& program, Parameters& parameters);
  ~Replay();

  /// Where the task has an EOS, its step is a part of all scores.
  SequenceScore run(std::span<const int> x, std::span<const int> y);

  /// Adds the gradient of a·G_T of the last run, for θ. The gradients' tables are left to
  /// Gradients::finish.
  void add_gradient(Gradients& gradients, double a);
  /// Adds the gradient of b·log q(y|x) + c·Ĥ_0, for φ.
  void add_proposal_gradient(Gradients& gradients, double b, double c = 0);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scry::test
