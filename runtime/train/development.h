// Scores on a development set, for early stopping. The random numbers are the same at every epoch,
// so that epochs are compared on equal terms.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/smc/sampler.h"
#include "runtime/train/sharded_objective.h"
#include "runtime/train/train.h"

namespace scry {

/// Of the random numbers with which a run measures its development set.
uint64_t development_seed(const TrainOptions& options);

/// Fills the perplexity and what says whether it can be trusted, and returns -log p in nats per
/// sequence; if it cannot, the perplexity is NaN and the result +∞, which is never the best. Throws
/// ExampleError if a tagging is forbidden. The examples are in the order of falling length.
double measure_likelihood(ShardedObjective& objective, std::span<const TrainExample> examples,
                          const TrainOptions& options, EpochReport& report);

/// Fills dev_residual_rms and dev_to_go_rmse; they stay NaN where no sequence has weight.
void measure_calibration(ShardedObjective& divergence, std::span<const TrainExample> examples,
                         const TrainOptions& options, EpochReport& report);

/// What to say of an epoch with sequences whose G_T is above log Ẑ, and what to do; empty if there
/// are none, or only training ones that hardly count beside a development set that is all right.
std::string describe_overshoot(const EpochReport& report);

/// The offset KL divergence (sec:metrics) of smoothing samples without resampling, and their
/// effective sample size.
class DevelopmentDivergence {
 public:
  /// z(x), which stands in for log Z(x).
  enum class Offset : uint8_t {
    kOnce,        ///< from 16M particles by filtering, when first asked for: for θ that is fixed
    kEveryEpoch,  ///< from 2M by filtering and the sample itself, each time
  };
  DevelopmentDivergence(const Program& program, const Parameters& parameters,
                        std::span<const TrainExample> examples, const TrainOptions& options,
                        Offset offset);

  /// Fills offset_kl, dev_kl, dev_ess and dev_failed; offset_kl is the mean over those that did not
  /// fail, and may be below 0. Throws TrainingError if none is left or a score is not a number.
  void measure(EpochReport& report);

 private:
  void compute_offsets();

  Sampler sampler_;
  std::vector<SampleInput> inputs_;
  SampleOptions options_;
  Offset offset_;
  std::optional<std::vector<double>> log_z_;  // kOnce: z(x), -∞ where nothing was drawn
};

}  // namespace scry
