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
/// is drawn from the update's seed and the example's number. The gradient of c also depends on the
/// baseline, and the tally's divergence on c.
class FakeObjective : public Objective {
 public:
  FakeObjective(const Program& program, const Parameters& parameters, double noise)
      : program_(program), parameters_(parameters), noise_(noise) {}
  void add_gradient(std::span<const TrainExample> examples, const StepContext& context,
                    double scale, Gradients& gradients, Tally& tally) override;
  void measure(std::span<const TrainExample> examples, const StepContext& context,
               Tally& tally) override;

 private:
  const Program& program_;
  const Parameters& parameters_;
  double noise_;
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
  /// Around the objective; empty: none.
  std::function<std::unique_ptr<Objective>(std::unique_ptr<Objective>)> wrap = {};
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
