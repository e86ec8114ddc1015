// Training: fit(θ) by likelihood, learn(φ) by the KL-interpolated objective (sec:optimization), or
// both together. Interrupted runs go on where they were, bit for bit.
#pragma once
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/files/examples_file.h"
#include "runtime/kernels/parameters.h"
#include "runtime/train/adam.h"
#include "runtime/train/conditional_likelihood.h"
#include "runtime/train/objective.h"
#include "runtime/train/proposal_divergence.h"
#include "runtime/train/rate_schedule.h"
#include "runtime/train/training_error.h"

namespace scry {

enum class Likelihood : uint8_t {
  kAuto,         ///< kJoint if the model is locally normalized as far as the data shows
  kJoint,        ///< log p(x, y) = G_T, or log p(y | x)
  kConditional,  ///< log p(y | x) = G_T - log Z; asked for, kExact where that can be had
  kExact,        ///< log p(y | x) by sums over finite states; only ever chosen
};

/// What makes an epoch of learn the best, on the development set.
enum class Selection : uint8_t {
  kOffsetKl,  ///< the offset KL of a sample of M particles, KL(p̂ ‖ p) (sec:metrics)
  /// KL(q ‖ p). With few plausible taggings, a proposal flatter than p gives M particles more
  /// distinct ones and so a lower offset KL, though its weights are worse; this one is not misled.
  kKl,
};

struct TrainOptions {
  // What is minimized.
  Likelihood likelihood = Likelihood::kAuto;
  Contrast contrast = Contrast::kAuto;  ///< of the conditional likelihood
  double lambda = 0.5;                  ///< of the exclusive divergence
  int particles = 32;                   ///< M
  double calibrate = 1;  ///< μ, of the mean r_t² (residuals.h); 0: the paper's objective
  Baseline baseline = Baseline::kLeaveOneOut;
  // How.
  int epochs = 3;    ///< at most; may be raised when a run is resumed whose rate is constant
  int patience = 0;  ///< stop after so many epochs without a better development score; 0: never
  Selection selection = Selection::kOffsetKl;
  int batch = 16;  ///< sequences of a minibatch
  /// Sequences that one thread takes, on which the result depends by rounding; 0: as many as suit
  /// what is minimized.
  int shard = 0;
  AdamOptions adam = {};
  RateSchedule schedule = RateSchedule::kConstant;  ///< of the rate, over all epochs
  std::vector<std::string> frozen = {};             ///< parameters that stay as they are
  uint64_t seed = 1;                                ///< of the order of examples and of the draws
  int threads = 0;     ///< 0: all cores; the result does not depend on it
  int64_t memory = 0;  ///< bytes to work in, about, likewise; 0: a quarter of the machine's
  // What is kept.
  std::string checkpoint = {};  ///< the file; empty: none
  bool resume = false;          ///< from the checkpoint, if there is one
  bool overwrite = false;       ///< replace a file that is there; else that is an error
  double save_seconds = 30;     ///< between checkpoints within an epoch
  int64_t save_updates = 0;     ///< likewise, in updates; 0: no limit
};

/// "auto", "joint", "conditional", "exact".
const char* name_of(Likelihood likelihood);

/// How far training is, after an update.
struct TrainProgress {
  int epoch = 0;                        ///< from 1
  int64_t update = 0, num_updates = 0;  ///< of this epoch
  int64_t total_updates = 0;            ///< since the beginning
  int num_epochs = 0;
  Tally tally;  ///< of this epoch so far
};

/// A finished epoch.
struct EpochReport {
  int epoch = 0;  ///< from 1; 0 is the start
  int64_t total_updates = 0;
  Tally train;
  double perplexity = NAN;  ///< per symbol, on the development set (fit, joint)
  double offset_kl = NAN;   ///< nats per sequence, on the development set (learn, joint)
  double dev_kl = NAN;      ///< KL(q ‖ p), likewise, with the sample's own log Ẑ
  double dev_ess = NAN;     ///< in parts of M (learn, joint)
  /// Tally::residual_rms and to_go_rmse, of development samples; in training, of `train`.
  double dev_residual_rms = NAN, dev_to_go_rmse = NAN;
  int64_t dev_failed = 0;  ///< development sequences left out: no particle had weight
  int64_t dev_sequences = 0,
          dev_overshot = 0;   ///< Tally::num_sequences and num_overshot (fit, joint)
  int64_t dev_estimated = 0;  ///< Tally::kEstimated: then the perplexity is an estimate
  /// Tally::kGap and kDrift, in nats a symbol (conditional fits).
  double dev_gap = NAN, dev_drift = NAN;
  /// False: too many development sequences overshot, or by too much, or estimates of log Z differ
  /// too much or still move, for the perplexity to be given. Such an epoch is never the best.
  bool is_reliable = true;
  double dev_score = NAN;  ///< what early stopping compares, lower is better; NaN without a set
  bool is_best = false;
  Likelihood likelihood = Likelihood::kAuto;  ///< as chosen (fit, joint)
};

struct TrainHooks {
  std::function<void(const TrainProgress&)> progress = {};
  /// Called when the epoch is safe in the checkpoint.
  std::function<void(const EpochReport&)> epoch = {};
  /// Called first if a run goes on, with the epochs that it has had, from 0.
  std::function<void(std::span<const EpochReport>)> resumed = {};
  /// Asked after every update; true: save and return.
  std::function<bool()> should_stop = {};
  /// Such as what kAuto chose, and once an epoch if log Ẑ was seen to be wrong.
  std::function<void(const std::string& text)> note = {};
};

/// All that a run is made of, besides data and options: what a checkpoint holds.
struct TrainState {
  TrainState(const Program& program, Parameters start);
  Parameters parameters;  ///< as they are now
  Parameters best;        ///< as they were at the best epoch
  AdamState adam;
  /// What objectives remember, by their names, as of the last save.
  std::map<std::string, std::vector<double>> memories;
  int epoch = 1;       ///< at hand, from 1
  int64_t update = 0;  ///< done in it
  Tally tally;         ///< of it so far
  double best_score = INFINITY;
  int best_epoch = 0;
  std::vector<EpochReport> history;           ///< of the epochs before this one, from 0
  Likelihood likelihood = Likelihood::kAuto;  ///< as chosen; kAuto until then
};

struct TrainResult {
  /// Of the best epoch; of the last without a development set, or if no epoch could be judged.
  Parameters parameters;
  std::vector<EpochReport> history;
  bool was_interrupted = false;
};

/// Throws Error if the options make no sense.
void check_options(const TrainOptions& options);

/// Fits θ to tagged examples; incomplete ones count by the likelihood of what is known of them
/// (observed_sum.h). Where the model is not locally normalized and has a proposal, φ is
/// learned along, unless the options' contrast is without y*: gradients are only as good as what
/// proposes. Throws Error for options and data that make no sense, TrainingError
/// if numbers run away, ExampleError if an example cannot be trained on, or shows that a model that
/// was taken for locally normalized is not.
TrainResult fit(const Program& program, const Parameters& start, std::span<const Example> train,
                std::span<const Example> dev, const TrainOptions& options = {},
                const TrainHooks& hooks = {});

/// Learns φ for θ as it is; tags of the examples are not looked at.
TrainResult learn(const Program& program, const Parameters& start, std::span<const Example> train,
                  std::span<const Example> dev, const TrainOptions& options = {},
                  const TrainHooks& hooks = {});

/// θ by likelihood and φ by divergence, in the same updates: q follows p as it is learned.
TrainResult fit_and_learn(const Program& program, const Parameters& start,
                          std::span<const Example> train, std::span<const Example> dev,
                          const TrainOptions& options = {}, const TrainHooks& hooks = {});

}  // namespace scry
