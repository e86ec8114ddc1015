// Backpropagation over a forest: each prefix once, however many particles share it.
#pragma once
#include <span>
#include <vector>

#include "runtime/kernels/stepper.h"
#include "runtime/train/batch_gradient.h"
#include "runtime/train/seeds.h"

namespace scry {

/// The gradient kernels of the steps, with scratch memory: one per thread. Rows know their
/// positions, so that those of all levels go through a kernel together; only states, which recur,
/// are walked level by level.
class ForestGradient {
 public:
  ForestGradient(const Program& program, const Parameters& parameters,
                 const BatchGradient& batch_gradient);

  /// Adds the gradient that the seeds begin: of scores for θ, of all else for φ. What is the
  /// batch's is left to `batch_gradient`.
  void add(const Batch& batch, const Recording& run, const Seeds& seeds,
           BatchGradient& batch_gradient, Gradients& gradients);

  /// g of the forest's rows but the roots, in order, which the last `add` that seeded scores came
  /// by; nullptr where θ does not move them.
  const RealBuffer* scores() const { return score_.kernel ? &scores_ : nullptr; }

 private:
  struct Stage {
    Stage(const Program& program, const Kernel& code, const Parameters& parameters,
          const RealRows& state, const BatchGradient& shape);
    BoundKernel kernel;
    int64_t chunk;
    Batch::Slots slots;
    BatchGradient::Slots gradients;
    StateSlots state, next, kept;
    SlotHandle y, score, d_score, d_compat;
    std::vector<SlotHandle> d_state, d_next;
  };
  void add_scores(const Batch& batch, const Recording& run, std::span<const double> d_score,
                  BatchGradient& batch_gradient, Gradients& gradients);
  void add_states(const Batch& batch, const Recording& run, int level,
                  BatchGradient& batch_gradient);
  void add_proposals(const Batch& batch, const Recording& run, const Seeds& seeds,
                     BatchGradient& batch_gradient, Gradients& gradients);
  void prepare(Stage& stage, const Batch& batch, BatchGradient& batch_gradient);
  void run_children(Stage& stage, const Batch& batch, const Recording& run, RowId begin, RowId end);
  void bind_cells(const Batch& batch, const Recording& run);
  void read_logits(const RealBuffer& scores, const RealBuffer& compats, int64_t first,
                   int64_t count);
  void seed_cells(const Recording& run, const Seeds& seeds);

  const Program& program_;
  RealRows d_states_;   // of all rows that go on
  RealRows d_parents_;  // of the parents of some children, one each
  RealRows d_next_;
  Stage score_, advance_, propose_;
  RealBuffer scores_, d_scores_;

  // Of some rows that are extended together.
  struct Extended {
    RowId row;
    int64_t state, cells;  ///< its number in the recording; of its cells there, or -1
  };
  std::vector<Extended> extended_;
  std::vector<RowId> first_child_;  // by RowId
  StateRows states_, kept_;
  std::vector<int32_t> positions_;
  std::vector<double> logits_;  // g + C, of every cell
  std::vector<double> seeds_;   // of one row
  RealBuffer d_compats_;
  Stepper stepper_;  // for cells that were not recorded
  Cells cells_;
  std::vector<int32_t> all_tags_;
};

}  // namespace scry
