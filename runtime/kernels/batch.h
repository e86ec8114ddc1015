// A batch of inputs, with all that is computed once per sequence: encodings and the lookahead.
#pragma once
#include <span>
#include <vector>

#include "runtime/kernels/state_rows.h"

namespace scry {

/// Inputs in the order of falling length, so that those still going at a step come first. The
/// encoder and the lookahead have run: enc.*, s₀, s̄_t (eq:sbar) and Ĥ_t (eq:Hhat) stand ready.
class Batch {
 public:
  /// Of no sequence.
  Batch() = default;
  /// As BatchEncoder fills it.
  Batch(const Program& program, const Parameters& parameters,
        std::span<const std::span<const int>> inputs, bool look_ahead);

  int num_sequences() const { return static_cast<int>(lengths_.size()); }
  int max_length() const { return lengths_.empty() ? 0 : lengths_.front(); }
  int length(int sequence) const { return lengths_[static_cast<size_t>(sequence)]; }
  /// How many sequences have a step t (counted from 1): the first so many.
  int num_reaching(int step) const { return num_reaching_[static_cast<size_t>(step)]; }

  /// s₀, one row per sequence.
  const StateRows& start() const { return start_; }
  /// Ĥ_t (eq:Hhat), 0 ≤ t ≤ T.
  double to_go(int sequence, int step) const {
    return to_go_[static_cast<size_t>(step) * lengths_.size() + static_cast<size_t>(sequence)];
  }

  /// How a kernel's slots of sequences are called.
  struct Slots {
    Slots() = default;
    Slots(const Program& program, const BoundKernel& kernel);
    SlotHandle x, t, last;
    std::vector<SlotHandle> features;
    StateSlots later;
  };
  /// Binds x, t, last and enc.* for the step t, and later.* to s̄_t.
  void bind(BoundKernel& kernel, const Slots& slots, int step) const;

 private:
  friend class BatchEncoder;
  friend class BatchGradient;
  void set_inputs(std::span<const std::span<const int>> inputs);
  int64_t at(int step) const { return static_cast<int64_t>(step) * num_sequences(); }

  std::vector<int32_t> lengths_, last_, num_reaching_;
  std::vector<int32_t> symbols_, positions_;  // [T][S]
  std::vector<RealBuffer> features_;          // [S][T][d]
  std::vector<StateRows> scans_;              // [T][S]: after reading a position
  StateRows start_;
  StateRows later_;  // [T + 1][S]
  std::vector<double> to_go_;
};

/// A scan's slots scan.k.i, for each of the encoder's scans.
class ScanSlots {
 public:
  ScanSlots() = default;
  ScanSlots(const Program& program, const BoundKernel& kernel, const std::string& prefix = "");
  /// To the states after reading position t (from 1) of `num_sequences` sequences.
  void bind(BoundKernel& kernel, const std::vector<StateRows>& scans, int t,
            int num_sequences) const;

 private:
  std::vector<StateSlots> slots_;
};

/// Fills batches: runs the encoder, s₀ and the lookahead, position by position, over the sequences
/// that have it. Keeps kernels and memory from batch to batch.
class BatchEncoder {
 public:
  BatchEncoder(const Program& program, const Parameters& parameters);

  /// Inputs must be in the order of falling length, of symbols inside the alphabet. Without
  /// `look_ahead`, s̄ and Ĥ are not computed.
  void run(std::span<const std::span<const int>> inputs, bool look_ahead, Batch& batch);

 private:
  struct Stage {
    Stage(const Program& program, const Kernel& code, const Parameters& parameters);
    BoundKernel kernel;
    Batch::Slots slots;
    ScanSlots scans;
    StateSlots in, out;
  };
  void encode(Batch& batch);
  void run_scan(Batch& batch, size_t k);
  void look_ahead(Batch& batch);

  const Program& program_;
  std::vector<Stage> scans_;
  Stage encode_, start_, end_, back_;
  SlotHandle to_go_slot_;
  StateRows encoding_, end_state_;  // at one position
  std::vector<StateRows> before_;   // of each scan: zeros where a sequence begins
  RealBuffer to_go_;
};

}  // namespace scry
