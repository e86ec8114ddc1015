// A batch of inputs, with all that is computed once per sequence or position: encodings, the
// lookahead, and what the step reads of them.
#pragma once
#include <span>
#include <vector>

#include "runtime/kernels/placed_rows.h"
#include "runtime/kernels/state_rows.h"

namespace scry {

/// Inputs in the order of falling length, so that those still going at a step come first. Positions
/// are numbered step by step, and in the order of sequences within a step: those of a step are
/// consecutive, and there are no others than the sequences have. The encoder and the lookahead have
/// run: enc.*, s₀, s̄_t (eq:sbar), Ĥ_t (eq:Hhat) and C_0 stand ready.
class Batch {
 public:
  /// Of no sequence yet.
  explicit Batch(const Program& program);
  /// As BatchEncoder fills it.
  Batch(const Program& program, const Parameters& parameters,
        std::span<const std::span<const int>> inputs, bool look_ahead);

  int num_sequences() const { return static_cast<int>(lengths_.size()); }
  int max_length() const { return lengths_.empty() ? 0 : lengths_.front(); }
  int length(int sequence) const { return lengths_[static_cast<size_t>(sequence)]; }
  /// How many sequences have a step t (counted from 1): the first so many. None beyond the last.
  int num_reaching(int step) const {
    return step > max_length() ? 0 : num_reaching_[static_cast<size_t>(step)];
  }

  int64_t num_positions() const { return static_cast<int64_t>(symbols_.size()); }
  /// The number of step t (counted from 1) of a sequence that has it.
  int32_t position(int step, int sequence) const {
    return first_position_[static_cast<size_t>(step)] + sequence;
  }
  int32_t sequence_at(int32_t position) const {
    return sequence_of_position_[static_cast<size_t>(position)];
  }
  /// t of a position, counted from 1.
  int step_at(int32_t position) const { return times_[static_cast<size_t>(position)] + 1; }
  /// The extent of the whole batch, or of one step's positions: no rows yet.
  KernelCall call() const { return call_for(0, num_positions()); }
  KernelCall call_at(int step) const { return call_for(position(step, 0), num_reaching(step)); }

  /// s₀, one row per sequence.
  const StateRows& start() const { return start_; }
  /// Ĥ_t (eq:Hhat), 0 ≤ t ≤ T.
  double to_go(int sequence, int step) const {
    return to_go_[static_cast<size_t>(later_row(step, sequence))];
  }
  /// C_0 = c(s₀, s̄_0); 0 where c looks at candidates, of which there are none yet.
  double root_compat(int sequence) const {
    return root_compat_.size() == 0 ? 0 : root_compat_.get(sequence);
  }
  /// Where s̄_t and Ĥ_t of a sequence stand, 0 ≤ t ≤ T: those of t = 0 first, then by position.
  int64_t later_row(int step, int sequence) const {
    return step == 0 ? sequence : num_sequences() + position(step, sequence);
  }
  int64_t num_later_rows() const { return num_sequences() + num_positions(); }

  /// How a kernel's slots of sequences and positions are called.
  struct Slots {
    Slots() = default;
    Slots(const Program& program, const BoundKernel& kernel);
    SlotHandle x, t, last;
    std::vector<SlotHandle> features, place, ahead;
    StateSlots later;
  };
  /// Binds x, t, last, enc.*, place.*, ahead.*, and later.* to s̄_t, from a position on.
  void bind(BoundKernel& kernel, const Slots& slots, int64_t first_position = 0) const;

 private:
  friend class BatchEncoder;
  friend class BatchGradient;
  void set_inputs(std::span<const std::span<const int>> inputs);
  KernelCall call_for(int64_t first, int64_t count) const {
    return {0, count, num_sequences(), max_length(), nullptr, sequence_of_position_.data() + first};
  }

  std::vector<int32_t> lengths_, last_, num_reaching_;
  std::vector<int32_t> first_position_;                          // by step, from 1 (0 is unused)
  std::vector<int32_t> symbols_, times_, sequence_of_position_;  // by position
  std::vector<RealBuffer> features_;                             // [S][T][d]
  std::vector<StateRows> scans_;                                 // by position: after reading it
  std::vector<PlacedRows> scan_in_;
  PlacedRows place_, back_in_, ahead_;
  StateRows start_;
  StateRows later_;  // by later_row
  std::vector<double> to_go_;
  RealBuffer root_compat_;
};

/// A scan's slots scan.k.i, for each of the encoder's scans.
class ScanSlots {
 public:
  ScanSlots() = default;
  ScanSlots(const Program& program, const BoundKernel& kernel, const std::string& prefix = "");
  /// To the states after reading a position, from `first_position` on.
  void bind(BoundKernel& kernel, const std::vector<StateRows>& scans,
            int64_t first_position = 0) const;

 private:
  std::vector<StateSlots> slots_;
};

/// Fills batches: runs the encoder, s₀ and the lookahead, over all positions at once, or where they
/// recur step by step, over the sequences that have it. Keeps kernels and memory from batch to
/// batch.
class BatchEncoder {
 public:
  BatchEncoder(const Program& program, const Parameters& parameters);

  /// The batch is one of the same program. Inputs must be in the order of falling length, of
  /// symbols inside the alphabet. Without
  /// `look_ahead`, s̄, Ĥ and C_0 are not computed.
  void run(std::span<const std::span<const int>> inputs, bool look_ahead, Batch& batch);

 private:
  struct Stage {
    Stage(const Program& program, const Kernel& code, const Parameters& parameters);
    BoundKernel kernel;
    Batch::Slots slots;
    ScanSlots scans;
    StateSlots state, out;
    std::vector<SlotHandle> in, values;  // a recurrence's in.*; a place's results
  };
  Stage make_place(const PlaceStage& place, const Parameters& parameters) const;
  void run_place(Stage& stage, const Batch& batch, PlacedRows& values);
  void encode(Batch& batch);
  void run_scan(Batch& batch, size_t k);
  void look_ahead(Batch& batch);
  void run_back(Batch& batch);

  const Program& program_;
  std::vector<Stage> scans_, scan_in_;
  Stage encode_, start_, place_, end_, back_in_, back_, root_, ahead_;
  SlotHandle to_go_slot_, root_slot_;
  StateRows encoding_, end_state_;
  std::vector<StateRows> before_;  // of each scan: zeros where a sequence begins
  RealBuffer to_go_;
};

}  // namespace scry
