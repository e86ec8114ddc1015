// Given taggings as a forest: one path for each sequence.
#pragma once
#include "runtime/kernels/recording.h"
#include "runtime/kernels/stepper.h"
#include "runtime/train/objective.h"

namespace scry {

/// Follows the examples' taggings through f and g, keeping every state. The batch is of their
/// inputs. The finals are in the order of the examples, each with count 1 and G_T for its weight.
/// Throws TrainingError if a score is NaN or +∞, ExampleError if one is -∞.
class GivenTaggings {
 public:
  GivenTaggings(const Program& program, const Parameters& parameters);
  const Recording& run(const Batch& batch, std::span<const TrainExample> examples);

 private:
  const Program& program_;
  Stepper stepper_;
  Recording recording_;
  RealBuffer scores_;
  std::vector<int32_t> tags_, sequences_;
};

}  // namespace scry
