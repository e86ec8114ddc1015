// Sums over the taggings of whole batches, where states are finite, and their gradients.
#pragma once
#include "runtime/search/lattice_sums.h"
#include "runtime/train/batch_gradient.h"
#include "runtime/train/objective.h"

namespace scry {

/// log Σ_y exp G_T over lattices of merged states: its gradient is Σ p(arc) ∇g over all arcs
/// (search/lattice_sums.h), and nothing is drawn. One per thread.
class LatticeGradient {
 public:
  LatticeGradient(const Program& program, const Parameters& parameters,
                  const BatchGradient& batch_gradient);

  void set_memory(int64_t bytes) { limits_.memory = bytes; }

  /// The taggings that the lattices have.
  enum class Taggings : uint8_t {
    kAll,
    kObserved,  ///< those that TrainExample::allowed lets be
  };
  /// The batch is of the examples' inputs. Throws TrainingError if a score is NaN or +∞,
  /// ExampleError if no tagging has mass, Error if memory is too little.
  std::span<const Lattice> build(const Batch& batch, std::span<const TrainExample> examples,
                                 Taggings taggings);

  /// Seeds for the gradient: all 0; then `weight` times log Z of a lattice, once each, which it
  /// returns; then `weight` more for g of one arc.
  void clear_seeds();
  double seed_log_z(size_t sequence, double weight);
  void add_seed(const LatticeStep& step, int64_t row, const Arc& arc, double weight);
  /// Adds what they begin; what is the batch's is left to `batch_gradient`. The seeds are lost.
  void add(const Batch& batch, BatchGradient& batch_gradient, Gradients& gradients);

 private:
  const Program& program_;
  LatticeLimits limits_;
  LatticeBuilder builder_;
  std::vector<Lattice> lattices_;
  // The gradient of g of all tags, of many states in large calls.
  BoundKernel kernel_;
  Batch::Slots slots_;
  BatchGradient::Slots gradient_slots_;
  StateSlots state_;
  SlotHandle d_score_;
  std::vector<int32_t> all_tags_;
  RealBuffer seeds_;  // of every state and tag
  std::vector<int64_t> numbers_;
  std::vector<const TagSets*> allowed_;
};

}  // namespace scry
