// What a checkpoint holds besides tensors, as JSON in which every double comes back as it was.
#pragma once
#include <string>

#include "runtime/train/checkpoint.h"

namespace scry {

/// The options that make a difference to what is computed, by their names on the command line.
std::string options_json(const Program& program, const TrainOptions& options);

/// How options differ from those of a file, such as "--lambda 0.5, not 0"; empty if they do not.
/// Throws Error if the text is no such JSON.
std::string find_difference(const std::string& theirs, const std::string& ours);

/// Tells the build of Scry that a program was compiled and is trained by from others.
std::string describe_build(const Program& program);

/// The run's goal, data, maker and progress.
std::string training_json(const Program& program, const RunIdentity& identity,
                          const TrainState& state);

/// Who a record is of, and what made it.
struct RecordHead {
  int format = 1;  ///< the only one that did not say so; then all that follows is empty
  std::string goal, data_hash;
  std::string differentiator, build, model, machine;
};
/// Throws Error if the text is no such JSON.
RecordHead read_head(const std::string& json);
std::string hash_text(uint64_t hash);
/// What the run was found to need. Throws Error if the text is no such JSON.
Likelihood read_likelihood(const std::string& json);

/// Fills all of the state that is not in tensors. Throws Error if the text is no such JSON or
/// contradicts itself, or the number of updates that an epoch has.
void read_training(const std::string& json, int64_t updates_per_epoch, TrainState& state);

}  // namespace scry
