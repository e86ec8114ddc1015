// Backpropagation over a forest: a walk down its levels in reverse, each prefix once, however many
// particles share it.
#pragma once
#include <span>
#include <vector>

#include "runtime/kernels/recording.h"
#include "runtime/kernels/stepper.h"
#include "runtime/train/batch_gradient.h"

namespace scry {

/// The gradient kernels of the steps, with scratch memory: one per thread.
class ForestGradient {
 public:
  ForestGradient(const Program& program, const Parameters& parameters,
                 const BatchGradient& batch_gradient);

  /// Adds Σ weight · ∇G_T over the recording's finals, for θ.
  void add_score_gradient(const Batch& batch, const Recording& run,
                          std::span<const double> final_weights, BatchGradient& batch_gradient,
                          Gradients& gradients);
  /// Adds Σ weight · ∇ log q(y | x) over the recording's finals (eq:q), for φ: through c and s̄. The
  /// run must have proposed by g + C, without resampling that changes what is meant by q.
  void add_proposal_gradient(const Batch& batch, const Recording& run,
                             std::span<const double> final_weights, BatchGradient& batch_gradient,
                             Gradients& gradients);

 private:
  struct Stage {
    Stage(const Program& program, const Kernel& code, const Parameters& parameters,
          const RealRows& state, const BatchGradient& shape);
    BoundKernel kernel;
    int64_t chunk;
    Batch::Slots slots;
    BatchGradient::Slots gradients;
    StateSlots state;
    SlotHandle y, d_score, d_compat;
    std::vector<SlotHandle> d_state, d_next;
  };
  void weigh_rows(const Recording& run, std::span<const double> final_weights);
  void run_rows(Stage& stage, const Batch& batch, int step, std::span<const int32_t> sequences);
  /// Consecutive rows of the level before a step.
  struct Chunk {
    int step;
    int64_t first, count;
  };
  const RealBuffer& find_logits(const Batch& batch, const Recording& run, const Chunk& chunk,
                                int64_t& first_cell);
  void seed_proposals(const Batch& batch, const Recording& run, const Chunk& chunk, RowId& child);

  const Program& program_;
  // Gradients of states: of a level, of the level before, and of each row's parent.
  RealRows next_, here_, parents_;
  StateRows parent_states_;
  Stage advance_, propose_;
  std::vector<double> row_weights_;  // by RowId: of all finals below it
  std::vector<double> seeds_;        // of one row
  Stepper stepper_;                  // for logits that were not recorded
  Cells cells_;
  RealBuffer logits_;
  RealBuffer d_scores_;  // or of compats, as the kernel takes them
  std::vector<int32_t> all_tags_;
};

}  // namespace scry
