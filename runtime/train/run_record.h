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

/// The run's goal, data and progress.
std::string training_json(const RunIdentity& identity, const TrainState& state);

/// Who a record is of.
struct RecordHead {
  std::string goal;
  std::string data_hash;
};
RecordHead read_head(const std::string& json);
std::string hash_text(uint64_t hash);

/// Fills all of the state that is not in tensors. Throws Error if the text is no such JSON or
/// contradicts itself.
void read_training(const std::string& json, TrainState& state);

}  // namespace scry
