// The training loop, whatever is minimized.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/train/checkpoint.h"
#include "runtime/train/sharded_objective.h"

namespace scry {

/// Fills the report's development fields from the parameters as they are. No function: there is no
/// development set.
using Evaluate = std::function<void(EpochReport&)>;

/// The blocks of these groups without the frozen ones. Throws Error if a frozen name is no
/// parameter's, or if nothing is left.
std::vector<size_t> find_trained_blocks(const Program& program, std::span<const ParamGroup> groups,
                                        std::span<const std::string> frozen);

/// Whether the run has had its epochs, or has not got better for too many of them.
bool is_finished(const TrainState& state, const TrainOptions& options);

/// Throws if the parameters as they are after an epoch contradict what training takes for granted.
using Inspect = std::function<void(int epoch)>;

/// Whether the start may be the best epoch.
enum class StartCounts : uint8_t { kNo, kYes };

class Trainer {
 public:
  /// The goals must be bound to `state.parameters`, and each be for another group of them; their
  /// order counts. They get back what the state says that they remember; throws DataError if that
  /// cannot be. The examples are not empty; their order counts.
  Trainer(const Program& program, TrainState& state, const RunIdentity& identity,
          const TrainHooks& hooks, std::span<const TrainExample> examples,
          std::vector<ShardedObjective*> goals, Evaluate evaluate,
          StartCounts start_counts = StartCounts::kYes, Inspect inspect = {});

  /// Trains until the run is finished, or until it is asked to stop; then returns true. Throws
  /// TrainingError; then the state is of no use, but the file is as it was last saved.
  bool run();

 private:
  void restore_memories();
  bool run_epoch();
  void update_once(std::span<const size_t> minibatch);
  Tally compute_gradient(uint64_t seed, double scale);
  void finish_epoch();
  void tell(const EpochReport& report) const;
  void evaluate(EpochReport& report);
  bool is_time_to_save() const;
  void save();
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_in_update(const std::string& what) const;
  /// In parentheses, for messages about numbers that no one parameter is to blame for.
  std::string describe_largest() const;

  const Program& program_;
  TrainState& state_;
  const RunIdentity& identity_;
  const TrainOptions& options_;
  const TrainHooks& hooks_;
  std::span<const TrainExample> examples_;
  std::vector<ShardedObjective*> goals_;
  Evaluate evaluate_;
  StartCounts start_counts_;
  Inspect inspect_;
  std::vector<BoundKernel> prepare_;  // of the tables that move
  std::vector<size_t> lengths_;
  std::vector<TrainExample> minibatch_;
  int64_t number_ = 0;  // of the update at hand, from 1 and since the beginning

  struct Saved {
    int64_t update;
    int epoch;
  };
  std::optional<Saved> saved_;
  std::chrono::steady_clock::time_point saved_at_;
};

}  // namespace scry
