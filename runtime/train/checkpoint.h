// A training run in a file. It is a parameters file (the best ones so far, under their own names)
// that any command takes, with the run's state beside them in tensors "train.…" and in metadata.
#pragma once
#include <string>

#include "runtime/train/train.h"

namespace scry {

/// What a run must have in common with the checkpoint it goes on from.
struct RunIdentity {
  std::string goal;            ///< "fit", "learn", "fit and learn"
  std::vector<size_t> blocks;  ///< of Program::params, that are trained
  uint64_t data_hash = 0;      ///< of the training and development examples
  TrainOptions options;
};

/// Tensors: the best parameters; "train.now.NAME", "train.first.NAME", "train.second.NAME" of the
/// parameters that are trained. Metadata: "scry.x", "scry.y", "scry.options", "scry.training", and
/// "scry.checksum" of all the rest. A pure function of the arguments: no times, no machine.
/// Replaces the file, whole or not at all. Throws Error.
void write_checkpoint(const std::string& path, const Program& program, const RunIdentity& identity,
                      const TrainState& state);

/// Throws DataError if the file is damaged, is no checkpoint, belongs to another model, to other
/// data or to other options (those that make no difference to what is computed may differ, and the
/// number of epochs and the patience), saying which.
TrainState read_checkpoint(const std::string& path, const Program& program,
                           const RunIdentity& identity);

/// The state that a run begins with: the checkpoint's if it is resumed and there is one, else a new
/// one from `start`. Throws Error if the checkpoint could not be written or would replace a file
/// that it may not replace, DataError as read_checkpoint does.
TrainState begin_run(const Program& program, const Parameters& start, const RunIdentity& identity,
                     const TrainHooks& hooks);

}  // namespace scry
