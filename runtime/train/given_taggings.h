// Given taggings as a forest: one path for each sequence.
#pragma once
#include "runtime/kernels/recording.h"
#include "runtime/kernels/stepper.h"
#include "runtime/train/objective.h"

namespace scry {

/// Follows taggings through f, and then g, at all of their positions at once, keeping every state.
class GivenTaggings {
 public:
  /// With `keeps_cells`, g and C of the tags that were not given are computed too; the batches must
  /// have looked ahead.
  GivenTaggings(const Program& program, const Parameters& parameters, bool keeps_cells = false);

  /// The batch is of the examples' inputs. The finals are in the order of the examples, each with
  /// count 1 and G_T for its weight. Scores may be anything.
  const Recording& follow(const Batch& batch, std::span<const TrainExample> examples);
  /// Likewise; throws TrainingError if a score is NaN or +∞, ExampleError if one is -∞.
  const Recording& run(const Batch& batch, std::span<const TrainExample> examples);

 private:
  void follow_states(const Batch& batch, std::span<const TrainExample> examples);
  void compute_cells(const Batch& batch);

  const Program& program_;
  Stepper stepper_;
  Recording recording_;
  RealBuffer scores_;  // g of the given tags, by position
  Cells cells_;
  std::vector<int32_t> tags_;  // by position
  StateRows states_, next_;
};

}  // namespace scry
