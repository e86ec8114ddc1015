#include "runtime/train/sharded_objective.h"

#include <algorithm>

#include "runtime/smc/memory.h"

namespace scry {

ShardedObjective::ShardedObjective(const Program& program, const Parameters& parameters,
                                   std::unique_ptr<Objective> objective, int shard,
                                   Workers& workers, int64_t memory)
    : program_(program),
      objective_(std::move(objective)),
      shard_(static_cast<size_t>(shard > 0 ? shard : objective_->shard())),
      workers_(workers) {
  const int64_t share = (memory > 0 ? memory : default_memory()) / workers.size();
  for (int thread = 0; thread < workers.size(); ++thread) {
    of_thread_.push_back(objective_->make_worker(program, parameters));
    of_thread_.back()->set_memory(share);
  }
  buffers_.emplace_back(program);
  const Stage& prepare =
      objective_->group() == ParamGroup::kModel ? program.prepare : program.prepare_proposal;
  finish_ = BoundKernel(program, prepare.gradient, parameters, &buffers_.front());
}

size_t ShardedObjective::num_shards(size_t num_examples) const {
  return (num_examples + shard_ - 1) / shard_;
}

Tally ShardedObjective::compute_gradient(std::span<const TrainExample> examples, uint64_t seed,
                                         double scale) {
  while (buffers_.size() < num_shards(examples.size())) buffers_.emplace_back(program_);
  if (examples.empty()) buffers_.front().clear();
  const Tally tally =
      run_shards(examples, [&](ObjectiveWorker& worker, size_t shard,
                               std::span<const TrainExample> part, Tally& shard_tally) {
        buffers_[shard].clear();
        worker.add_gradient(part, seed, scale, buffers_[shard], shard_tally);
      });
  for (size_t shard = 1; shard < num_shards(examples.size()); ++shard) {
    buffers_.front().add(buffers_[shard]);
  }
  finish_.run({});
  return tally;
}

Tally ShardedObjective::measure(std::span<const TrainExample> examples, uint64_t seed) {
  return run_shards(examples,
                    [&](ObjectiveWorker& worker, size_t, std::span<const TrainExample> part,
                        Tally& shard_tally) { worker.measure(part, seed, shard_tally); });
}

Tally ShardedObjective::run_shards(
    std::span<const TrainExample> examples,
    const std::function<void(ObjectiveWorker&, size_t, std::span<const TrainExample>, Tally&)>&
        run) {
  const size_t count = num_shards(examples.size());
  tallies_.assign(count, {});
  errors_.assign(count, nullptr);
  try {
    workers_.for_each(static_cast<int64_t>(count), [&](int worker, int64_t task) {
      const auto shard = static_cast<size_t>(task);
      const size_t first = shard * shard_;
      try {
        run(*of_thread_[static_cast<size_t>(worker)], shard,
            examples.subspan(first, std::min(shard_, examples.size() - first)), tallies_[shard]);
      } catch (...) {
        errors_[shard] = std::current_exception();
        throw;
      }
    });
  } catch (...) {
    // Tasks start in their order and run to their end: the first that fails always has run.
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
    throw;
  }
  Tally total;
  for (const Tally& tally : tallies_) total += tally;
  return total;
}

}  // namespace scry
