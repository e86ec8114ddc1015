// What is known of incomplete taggings, as a sum over all that they may be.
#pragma once
#include <vector>

#include "runtime/train/objective.h"

namespace scry {

/// How the sums are had.
struct ObservedSumOptions {
  bool is_exact = false;  ///< over lattices; the states must be finite
  int particles = 32;     ///< M of the discrete sets, else
};

/// log Σ_{y ∈ O} exp G_T of incomplete examples, where O are the taggings that agree with what was
/// observed. Its gradient is E[∇G_T] under p(y | x, O): the E-step of EM, by sums over finite
/// states; or by a discrete set constrained to O, whose weights are held still (Monte Carlo EM).
/// Such a set's estimate is below the sum on average, and where steps are normalized never above 1.
class ObservedSum {
 public:
  virtual ~ObservedSum() = default;
  virtual void set_memory(int64_t /*bytes*/) {}
  /// Adds `scale` times the gradient, as ObjectiveWorker does, and returns the logarithms: -∞ where
  /// a discrete set came to nothing. Valid until the next call.
  virtual std::span<const double> add_gradient(std::span<const TrainExample> examples,
                                               uint64_t seed, double scale,
                                               Gradients& gradients) = 0;
  virtual std::span<const double> measure(std::span<const TrainExample> examples,
                                          uint64_t seed) = 0;
};

std::unique_ptr<ObservedSum> make_observed_sum(const Program& program, const Parameters& parameters,
                                               const ObservedSumOptions& options);

/// The examples whose tags are all known, or the others, in their order.
std::vector<TrainExample> select_examples(std::span<const TrainExample> examples, bool complete);

}  // namespace scry
