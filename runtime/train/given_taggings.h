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
  /// count 1. Until `score`, scores are 0.
  const Recording& follow(const Batch& batch, std::span<const TrainExample> examples);
  /// Gives what was followed its scores, which may be anything; finals have G_T for their weight.
  const Recording& score(const Batch& batch);
  /// Likewise, if they are known: by position, as ForestGradient comes by them.
  const Recording& score(const Batch& batch, const RealBuffer& known);
  /// Throws TrainingError if a score is NaN or +∞, ExampleError if one is -∞.
  void check(const Batch& batch, std::span<const TrainExample> examples) const;
  /// All of these.
  const Recording& run(const Batch& batch, std::span<const TrainExample> examples);

 private:
  void follow_states(const Batch& batch, std::span<const TrainExample> examples);
  void add_rows(const Batch& batch);
  void compute_cells(const Batch& batch);

  const Program& program_;
  Stepper stepper_;
  Recording recording_;
  RealBuffer scores_;  // g of the given tags, by position, if computed here
  const RealBuffer* known_ = nullptr;
  Cells cells_;
  std::vector<int32_t> tags_;  // by position
  StateRows states_, next_;
};

}  // namespace scry
