// What training minimizes, one minibatch at a time. An objective is one file that implements this.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernels/parameters.h"
#include "runtime/smc/tag_sets.h"
#include "runtime/train/tally.h"

namespace scry {

/// An example as training sees it. `y` is empty where only x is given, or where not all tags are
/// known.
struct TrainExample {
  std::span<const int> x, y;
  int64_t number = 0;                ///< in its file, from 0: the key of its random numbers
  const TagSets* allowed = nullptr;  ///< where `y` is empty: the tags that may be; null: all
  bool is_complete() const { return !y.empty(); }
};

/// What rounding, in float, may add to the score of so many steps.
inline double score_slack(int length) { return 1e-4 + 1e-5 * length; }

/// What a thread computes of an objective: kernels and scratch memory, bound to the parameters at
/// hand.
class ObjectiveWorker {
 public:
  virtual ~ObjectiveWorker() = default;
  /// From now on it works in so many bytes, about; on which no bit of its results depends. Throws
  /// Error later where examples may not fit.
  virtual void set_memory(int64_t /*bytes*/) {}
  /// Adds `scale` times the gradient of the examples' summed loss. The examples are in the order of
  /// falling length, valid and not empty; `seed` is of this update's random numbers. The gradients'
  /// tables are left to Gradients::finish. Throws TrainingError if a score is NaN or +∞,
  /// ExampleError if a given tagging has the score -∞.
  virtual void add_gradient(std::span<const TrainExample> examples, uint64_t seed, double scale,
                            Gradients& gradients, Tally& tally) = 0;
  /// Adds to the tally what add_gradient would, without the work for the gradient.
  virtual void measure(std::span<const TrainExample> examples, uint64_t seed, Tally& tally) = 0;
};

/// A loss, the parameters that it is for, and what it remembers from update to update.
class Objective {
 public:
  virtual ~Objective() = default;
  virtual std::string name() const = 0;
  /// Whose gradient it is. Others may be touched by it and are not looked at.
  virtual ParamGroup group() const = 0;
  /// How many sequences a worker best takes at once; the result depends on it by rounding.
  virtual int shard() const = 0;
  /// For parameters whose address does not change. The worker may read what this remembers.
  virtual std::unique_ptr<ObjectiveWorker> make_worker(const Program& program,
                                                       const Parameters& parameters) const = 0;
  /// After the gradient of a minibatch, with what it tallied. Throws TrainingError.
  virtual void remember(const Tally&) {}
  /// What is remembered, for a checkpoint; and as it was. False if it cannot have been that.
  virtual std::vector<double> memory() const { return {}; }
  virtual bool restore(std::span<const double> memory) { return memory.empty(); }
};

}  // namespace scry
