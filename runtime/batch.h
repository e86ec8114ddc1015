// A batch of inputs, with all that is computed once per sequence: encodings and the lookahead.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "runtime/state_rows.h"

namespace scry {

/// Inputs in the order of falling length, so that those still going at a step come first. The
/// encoder and the lookahead have run: enc.*, s₀, s̄_t (eq:sbar) and Ĥ_t (eq:Hhat) stand ready.
class Batch {
 public:
  /// Inputs must be in the order of falling length, of symbols inside the alphabet. Without
  /// `look_ahead`, s̄ and Ĥ are not computed.
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
  class Builder;
  std::vector<int32_t> lengths_, last_, num_reaching_;
  std::vector<int32_t> symbols_, positions_;  // [T][S]
  std::vector<RealBuffer> features_;          // [S][T][d]
  StateRows start_;
  StateRows later_;  // [T + 1][S]
  std::vector<double> to_go_;
  int64_t at(int step) const { return static_cast<int64_t>(step) * num_sequences(); }
};

}  // namespace scry
