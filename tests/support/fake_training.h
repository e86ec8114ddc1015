// A small program and an objective whose minimum is known: what the training loop's tests train.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/train/trainer.h"

namespace scry::test {

/// In float: model.a [3], model.b [5], proposal.c [2, 2], and a table 2a.
Program fake_program();

/// ½ Σ (w - x̄ - noise)² over 2a, b and c, where x̄ is the mean of an example's symbols and the noise
/// is drawn from the update's seed and the example's number. The gradient of c also depends on what
/// the proposal's objective remembers: how far c was off, so to speak.
class FakeObjective : public Objective {
 public:
  FakeObjective(ParamGroup group, double noise) : group_(group), noise_(noise) {}
  std::string name() const override {
    return group_ == ParamGroup::kModel ? "fake model" : "fake proposal";
  }
  ParamGroup group() const override { return group_; }
  int shard() const override { return 8; }
  std::unique_ptr<ObjectiveWorker> make_worker(const Program& program,
                                               const Parameters& parameters) const override;
  void remember(const Tally& tally) override;
  std::vector<double> memory() const override;
  bool restore(std::span<const double> memory) override;
  double off() const { return off_; }
  double noise() const { return noise_; }

 private:
  ParamGroup group_;
  double noise_;
  double off_ = 0;
};

/// 23 examples of the lengths 1 … 5.
std::vector<std::vector<int>> fake_inputs();

/// What a test wants of a run.
struct FakeRun {
  TrainOptions options = {};
  TrainHooks hooks = {};
  bool has_dev = true;
  std::vector<ParamGroup> groups = {ParamGroup::kModel, ParamGroup::kProposal};
  uint64_t data_hash = 1;
  double noise = 0.5;  ///< of the objective
  /// Of the epoch; empty: the objective's loss.
  std::function<double(int epoch)> dev_score = {};
  std::function<bool(int epoch)> is_reliable = {};  ///< empty: every epoch is
  /// Around the objective's workers; empty: none.
  std::function<std::unique_ptr<ObjectiveWorker>(std::unique_ptr<ObjectiveWorker>)> wrap = {};
};

struct FakeResult {
  TrainState state;
  bool was_interrupted;
};

RunIdentity fake_identity(const Program& program, const FakeRun& run);
FakeResult train_fake(const Program& program, const FakeRun& run);

/// 23 examples make 6 updates an epoch, without patience and with saves at the epochs' ends only.
FakeRun small_run();
/// What training throws; empty if nothing.
std::string failure_of(const FakeRun& run);

/// Every number of the state, for comparison to the bit.
std::string bits_of(const Program& program, const TrainState& state);

}  // namespace scry::test
