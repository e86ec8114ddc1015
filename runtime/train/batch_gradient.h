// Backpropagation through what a batch computes once per sequence.
#pragma once
#include "runtime/kernels/batch.h"
#include "runtime/train/real_rows.h"

namespace scry {

/// Gathers gradients of enc.*, s₀ and s̄ (eq:sbar) from the steps of a batch's forests, and takes
/// them on to the parameters.
class BatchGradient {
 public:
  BatchGradient(const Program& program, const Parameters& parameters);

  /// Starts from zero; the batch must stay as it is until the end.
  void begin(const Batch& batch);

  /// How a gradient kernel calls the gradients of what is a sequence's.
  struct Slots {
    std::vector<SlotHandle> features, later;
  };
  Slots find_slots(const BoundKernel& kernel) const;
  /// Binds d.enc.*, and d.later.* to the gradient of s̄_t. Kernels add to them.
  void bind(BoundKernel& kernel, const Slots& slots, int step);
  /// Of s₀, one row per sequence; add to it.
  RealRows& start() { return start_; }

  /// From s̄ to the parameters, and enc.* where the lookahead reads it.
  void finish_lookahead(Gradients& gradients);
  /// From s₀ and enc.* to the parameters. After finish_lookahead, if that is run at all.
  void finish_model(Gradients& gradients);

 private:
  struct Stage {
    Stage(const Program& program, const Kernel& code, const Parameters& parameters);
    BoundKernel kernel;
    Batch::Slots slots;
    ScanSlots scans;
    Slots gradients;
    std::vector<SlotHandle> in, out;            // gradients of what the stage reads and writes
    std::vector<std::vector<SlotHandle>> into;  // gradients of the scans that it reads
  };
  Stage make_stage(const Kernel& code, const Parameters& parameters) const;
  void prepare(Stage& stage, int step, Gradients& gradients);
  void bind_scans(Stage& stage, int t);
  void finish_encoding(Gradients& gradients);
  void finish_scan(size_t k, Gradients& gradients);
  int64_t at(int step) const { return static_cast<int64_t>(step) * batch_->num_sequences(); }
  KernelCall call(int num_sequences) const {
    return {0, num_sequences, batch_->max_length(), nullptr, nullptr};
  }

  const Program& program_;
  const Batch* batch_ = nullptr;
  std::vector<RealRows> scans_;       // [T + 2][S], by position from 1
  std::vector<RealBuffer> features_;  // [S][T][d]
  RealRows start_, later_, end_, encoding_;
  RealBuffer to_go_;
  SlotHandle to_go_slot_;
  std::vector<StateRows> before_;  // of each scan
  std::vector<StateSlots> before_slots_;
  std::vector<Stage> scan_stages_;
  Stage encode_stage_, start_stage_, back_stage_, end_stage_;
};

}  // namespace scry
