// An objective over many examples: cut into shards, shared out to threads, summed up in a fixed
// order.
#pragma once
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/kernels/bound_kernel.h"
#include "runtime/kernels/workers.h"
#include "runtime/train/objective.h"

namespace scry {

/// One ObjectiveWorker for each thread, all bound to the same parameters: their address must not
/// change. The results are the same bits for any number of threads, and depend on `shard` by
/// rounding.
class ShardedObjective {
 public:
  /// With `shard` 0, as many sequences as the objective asks for. The threads share the memory; 0:
  /// default_memory().
  ShardedObjective(const Program& program, const Parameters& parameters,
                   std::unique_ptr<Objective> objective, int shard, Workers& workers,
                   int64_t memory = 0);
  ShardedObjective(const ShardedObjective&) = delete;
  ShardedObjective& operator=(const ShardedObjective&) = delete;

  /// Makes `gradients()` scale times the gradient of the examples' summed loss, for the objective's
  /// group of parameters.
  /// If several shards throw, the first one's exception is thrown here.
  Tally compute_gradient(std::span<const TrainExample> examples, uint64_t seed, double scale);
  /// Always the same object.
  Gradients& gradients() { return buffers_.front(); }
  Tally measure(std::span<const TrainExample> examples, uint64_t seed);
  Objective& objective() { return *objective_; }

 private:
  size_t num_shards(size_t num_examples) const;
  Tally run_shards(
      std::span<const TrainExample> examples,
      const std::function<void(ObjectiveWorker& worker, size_t shard,
                               std::span<const TrainExample> examples, Tally& tally)>& run);

  const Program& program_;
  std::unique_ptr<Objective> objective_;
  size_t shard_;
  Workers& workers_;
  std::vector<std::unique_ptr<ObjectiveWorker>> of_thread_;
  std::deque<Gradients> buffers_;  // of each shard
  BoundKernel finish_;             // the tables' gradients into the parameters'
  std::vector<Tally> tallies_;
  std::vector<std::exception_ptr> errors_;
};

}  // namespace scry
