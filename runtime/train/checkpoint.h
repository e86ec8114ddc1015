// A training run in a file. It is a parameters file (the best ones so far, under their own names)
// that any command takes, with the run's state beside them in tensors "train.…" and in metadata.
#pragma once
#include <string>

#include "runtime/train/train.h"

namespace scry {

/// What a run must have in common with the checkpoint it goes on from.
struct RunIdentity {
  std::string goal;               ///< "fit", "learn", "fit and learn"
  std::vector<size_t> blocks;     ///< of Program::params, that are trained
  uint64_t data_hash = 0;         ///< of the training and development examples
  int64_t updates_per_epoch = 0;  ///< for the training examples in minibatches
  TrainOptions options;
};

/// Of what a checkpoint says and means. Raise it with every change of either, and of what a run
/// computes: a run must go on to the bit as it began.
inline constexpr int kCheckpointFormat = 5;

/// Tensors: the best parameters; "train.now.NAME", "train.first.NAME", "train.second.NAME" of the
/// parameters that are trained. Metadata: "scry.x", "scry.y", "scry.options", "scry.training" (with
/// the format, and what the program was made of and by), and "scry.checksum" of all the rest. A
/// pure function of the arguments. Replaces the file, whole or not at all, and removes what killed
/// processes left beside it. Throws Error.
void write_checkpoint(const std::string& path, const Program& program, const RunIdentity& identity,
                      const TrainState& state);

/// Throws DataError if the file is damaged, is no checkpoint, belongs to another model, to another
/// build of Scry, to another differentiator, to other data or to other options (those that make no
/// difference to what is computed may differ, the patience, and where the rate is constant the
/// number of epochs), saying which. Notes that it was begun on another machine, as the last bits
/// may then differ.
TrainState read_checkpoint(const std::string& path, const Program& program,
                           const RunIdentity& identity, const TrainHooks& hooks = {});

/// What the run in this file was found to need, before anything else of it is known: kAuto if it is
/// no checkpoint of a fit, as read_checkpoint will say; nothing if there is no file.
std::optional<Likelihood> peek_likelihood(const std::string& path);

/// The state that a run begins with: the checkpoint's if it is resumed and there is one, else a new
/// one from `start`. Throws Error if the checkpoint could not be written or would replace a file
/// that it may not replace, DataError as read_checkpoint does.
TrainState begin_run(const Program& program, const Parameters& start, const RunIdentity& identity,
                     const TrainHooks& hooks);

}  // namespace scry
