// Backpropagation through what a batch computes once per sequence or position.
#pragma once
#include "runtime/kernels/batch.h"
#include "runtime/train/real_rows.h"

namespace scry {

/// Gathers gradients of enc.*, s₀, s̄ (eq:sbar) and what was made of them from a batch's forests,
/// and takes them on to the parameters: of all positions at once, or where they recur step by step.
class BatchGradient {
 public:
  BatchGradient(const Program& program, const Parameters& parameters);

  /// Starts from zero; the batch must stay as it is until the end.
  void begin(const Batch& batch);

  /// How a gradient kernel calls the gradients of what is a sequence's or a position's.
  struct Slots {
    std::vector<SlotHandle> features, place, ahead, later;
  };
  Slots find_slots(const BoundKernel& kernel) const;
  /// Binds d.enc.*, d.place.*, d.ahead.*, and d.later.* to the gradient of s̄_t, from a position on.
  /// Kernels add to them.
  void bind(BoundKernel& kernel, const Slots& slots, int64_t first_position = 0);
  /// Of s₀, one row per sequence; add to it.
  RealRows& start() { return start_; }
  /// Adds to the gradient of C_0.
  void add_root(int sequence, double gradient);
  /// Adds to the gradients of Ĥ_t, by Batch::later_row.
  void add_to_go(std::span<const double> gradients);

  /// From s̄, Ĥ and C_0 to φ.
  void finish_lookahead(Gradients& gradients);
  /// From s₀, place.* and enc.* to θ.
  void finish_model(Gradients& gradients);

 private:
  struct Stage {
    Stage(const Program& program, const Kernel& code, const Parameters& parameters);
    BoundKernel kernel;
    Batch::Slots slots;
    ScanSlots scans;
    Slots gradients;
    std::vector<SlotHandle> in, out;            // gradients of the state that it reads and writes
    std::vector<std::vector<SlotHandle>> into;  // gradients of the scans that it reads
    std::vector<SlotHandle> inputs, d_inputs;   // a recurrence's in.*, and their gradients
    std::vector<SlotHandle> d_values;           // a place's seeds
  };
  Stage make_stage(const Kernel& code, const Parameters& parameters) const;
  Stage make_place(const PlaceStage& place, const Parameters& parameters) const;
  void prepare(Stage& stage, Gradients& gradients, int64_t first_position = 0);
  void finish_place(Stage& stage, PlacedRows& d_values, Gradients& gradients);
  void finish_root(Gradients& gradients);
  void finish_back(Gradients& gradients);
  void finish_encoding(Gradients& gradients);
  void finish_scan(size_t k, Gradients& gradients);
  void bind_scans(Stage& stage, int64_t first_position = 0);

  const Program& program_;
  const Batch* batch_ = nullptr;
  std::vector<RealRows> scans_;  // by position; and so many rows more that nobody reads
  std::vector<PlacedRows> scan_in_;
  std::vector<RealBuffer> features_;  // [S][T][d]
  RealRows start_, later_, end_, encoding_;
  PlacedRows place_, back_in_, ahead_;
  std::vector<double> d_to_go_;  // by Batch::later_row; empty: zeros
  RealBuffer to_go_, root_;
  bool has_root_ = false;
  SlotHandle to_go_slot_, root_slot_;
  std::vector<StateRows> before_;  // of each scan
  std::vector<StateSlots> before_slots_;
  StateSlots root_state_;
  std::vector<Stage> scan_stages_, scan_in_stages_;
  Stage encode_stage_, start_stage_, place_stage_, back_stage_, back_in_stage_, ahead_stage_,
      root_stage_, end_stage_;
};

}  // namespace scry
