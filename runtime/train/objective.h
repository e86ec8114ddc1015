// What training minimizes, one minibatch at a time.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "runtime/kernels/parameters.h"

namespace scry {

/// An example as training sees it. `y` is empty where only x is given.
struct TrainExample {
  std::span<const int> x, y;
  int64_t number = 0;  ///< in its file, from 0: the key of its random numbers
};

/// Sums over sequences, from which the averages that a person reads are made. Added up in a fixed
/// order, so that they are the same for any number of threads.
struct Tally {
  int64_t num_sequences = 0, num_symbols = 0;
  int64_t num_failed = 0;     ///< no particle had weight; such a sequence counts for nothing else
  double loss = 0;            ///< what is minimized, as estimated
  double negative_log_p = 0;  ///< -log p(x, y) or -log p(y | x) of the given tagging
  double kl = 0;              ///< KL(q ‖ p), as estimated: d plus log Ẑ
  double divergence = 0;      ///< d = log q - G_T, the mean over the particles (eq:grad)
  double ess = 0;             ///< of the particles, in parts of M
  int64_t num_rows = 0, num_particle_steps = 0;
  /// Sequences with G_T > log Ẑ, which cannot be: Z has exp G_T among its terms. Their -log p is
  /// taken as 0, the least that it can be, which took off so much.
  int64_t num_overshot = 0;
  double overshoot = 0;

  Tally& operator+=(const Tally& other);
  /// Whether -log p is not known to be wrong by more than a hundredth of the perplexity.
  bool is_reliable() const { return overshoot <= 0.01 * static_cast<double>(num_symbols); }
};

/// What rounding, in float, may add to the score of so many steps.
inline double score_slack(int length) { return 1e-4 + 1e-5 * length; }

/// What a step's estimate depends on besides the examples and the parameters.
struct StepContext {
  uint64_t seed = 0;    ///< of this update's random numbers
  double baseline = 0;  ///< b (app:gradient-derivation)
};

/// Holds a thread's kernels and scratch memory, bound to the parameters at hand.
class Objective {
 public:
  virtual ~Objective() = default;
  /// Adds `scale` times the gradient of the examples' summed loss. The examples are in the order of
  /// falling length, valid and not empty. The gradients' tables are left to Gradients::finish.
  /// Throws TrainingError if a score is NaN or +∞, ExampleError if a given tagging has the score
  /// -∞.
  virtual void add_gradient(std::span<const TrainExample> examples, const StepContext& context,
                            double scale, Gradients& gradients, Tally& tally) = 0;
  /// Adds to the tally what add_gradient would, without the work for the gradient.
  virtual void measure(std::span<const TrainExample> examples, const StepContext& context,
                       Tally& tally) = 0;
};

/// θ, by the log-likelihood of given taggings: log p(x, y) = G_T of a locally normalized model.
/// Throws ExampleError if a likelihood is above 1.
std::unique_ptr<Objective> make_joint_likelihood(const Program& program,
                                                 const Parameters& parameters);

/// θ, by log p(y | x) of a globally normalized model, whose gradient ∇G*_T - E_p̂[∇G_T] is taken
/// over a sample of M particles (app:apps): by smoothing with ESS resampling if the program has a
/// proposal, else by filtering.
std::unique_ptr<Objective> make_conditional_likelihood(const Program& program,
                                                       const Parameters& parameters, int particles);

/// φ, by (1-λ) KL(p ‖ q) + λ KL(q ‖ p), both estimated from M particles of q (sec:optimization).
std::unique_ptr<Objective> make_proposal_divergence(const Program& program,
                                                    const Parameters& parameters, int particles,
                                                    double lambda);

}  // namespace scry
