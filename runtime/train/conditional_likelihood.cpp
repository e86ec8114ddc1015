#include "runtime/train/conditional_likelihood.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/train/forest_gradient.h"
#include "runtime/train/forest_sampler.h"
#include "runtime/train/given_taggings.h"
#include "runtime/train/log_z_bracket.h"

namespace scry {
namespace {

constexpr std::array kTable{
    ContrastRow{Contrast::kAuto, "auto", "ranking if there is a proposal, else discrete", true, 1},
    ContrastRow{Contrast::kRanking, "ranking", "y* among M draws of q, never resampled", true, 1},
    ContrastRow{Contrast::kDiscrete, "discrete",
                "a discrete set of M, at least 32, that retains y*", true, 32},
    ContrastRow{Contrast::kSmc, "smc", "M particles of conditional SMC that retains y*", true, 2},
    ContrastRow{Contrast::kSample, "sample",
                "M particles without y*, which may run away from the data", false, 1},
    ContrastRow{Contrast::kEnumerate, "enumerate",
                "every tagging, exactly: for short sequences and few tags", false, 0},
};

/// M of what a development set is measured by, at least.
constexpr int kLeastMeasured = 32;

constexpr bool is_in_order() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<size_t>(kTable[i].contrast) != i) return false;
  }
  return true;
}
static_assert(is_in_order());

/// The options are settled.
SampleOptions sampling_for(const Program& program, const ConditionalOptions& options) {
  const bool ahead = program.has_proposal();
  SampleOptions sampling{.method = ahead ? Method::kSmooth : Method::kFilter,
                         .particles = options.particles,
                         .trigger = Trigger::kEss,
                         .error_bar = false};
  if (options.contrast == Contrast::kRanking) {
    sampling.trigger = Trigger::kNever;
    ++sampling.particles;  // y* is one
  } else if (options.contrast == Contrast::kDiscrete) {
    sampling.method = default_method(ahead);
  } else if (options.contrast == Contrast::kEnumerate) {
    sampling.method = Method::kEnumerate;
    sampling.max_rows = int64_t{1} << 16;
  }
  return sampling;
}

/// One sequence's.
void note_likelihood(double log_score, double log_z, int length, Tally& tally) {
  const double overshoot = log_score - log_z;
  const bool is_over = overshoot > score_slack(length);
  tally.add(Tally::kSequences, 1);
  tally.add(Tally::kSymbols, length);
  tally.add(Tally::kNegativeLogP, std::max(0.0, -overshoot));
  tally.add(Tally::kLoss, std::max(0.0, -overshoot));
  tally.add(Tally::kOvershot, is_over ? 1 : 0);
  tally.add(Tally::kOvershoot, is_over ? overshoot : 0);
}

/// log p(y | x) = G_T - log Z, with log Ẑ and E_p̂ for log Z and its gradient.
class Worker : public ObjectiveWorker {
 public:
  Worker(const Program& program, const Parameters& parameters, const ConditionalOptions& options)
      : is_exact_(options.contrast == Contrast::kEnumerate),
        sampler_(program, parameters, sampling_for(program, options), false,
                 row_of(options.contrast).retains ? GivenUse::kRetain : GivenUse::kNone),
        brackets_(program, parameters, std::max(options.particles, kLeastMeasured)),
        taggings_(program, parameters),
        batch_gradient_(program, parameters),
        forest_gradient_(program, parameters, batch_gradient_) {}

  void set_memory(int64_t bytes) override {
    sampler_.set_memory(bytes);
    brackets_.set_memory(bytes);
  }
  void add_gradient(std::span<const TrainExample> examples, uint64_t seed, double scale,
                    Gradients& gradients, Tally& tally) override {
    const Recording& sampled = sampler_.run(examples, seed);
    const Batch& batch = sampler_.batch();
    const Recording& given = taggings_.run(batch, examples);
    note(given, tally);
    given_weights_.assign(given.finals.size(), 0.0);
    sampled_weights_.assign(sampled.finals.size(), 0.0);
    for (size_t s = 0; s < examples.size(); ++s) {
      if (sampler_.failed(s)) continue;
      given_weights_[s] = -scale;
      const ForestSampler::Sample& sample = sampler_.sample(s);
      for (size_t i : sample.finals)
        sampled_weights_[i] = scale * std::exp(sampled.finals[i].log_weight - sample.log_z);
    }
    batch_gradient_.begin(batch);
    forest_gradient_.add(batch, given, seed_scores(given, given_weights_), batch_gradient_,
                         gradients);
    forest_gradient_.add(batch, sampled, seed_scores(sampled, sampled_weights_), batch_gradient_,
                         gradients);
    batch_gradient_.finish_model(gradients);
  }
  void measure(std::span<const TrainExample> examples, uint64_t seed, Tally& tally) override {
    if (is_exact_) {
      sampler_.run(examples, seed);
      return note(taggings_.run(sampler_.batch(), examples), tally);
    }
    brackets_.run(examples, seed);
    const Recording& given = taggings_.run(brackets_.batch(), examples);
    for (const Recording::Final& final : given.finals) {
      const auto s = static_cast<size_t>(final.sequence);
      if (!brackets_.of(s)) {
        tally.add(Tally::kFailed, 1);
        continue;
      }
      const LogZBracket& bracket = *brackets_.of(s);
      note_likelihood(final.log_weight, bracket.middle(), brackets_.batch().length(final.sequence),
                      tally);
      tally.add(Tally::kGap, bracket.gap());
      tally.add(Tally::kDrift, bracket.drift());
    }
  }

 private:
  void note(const Recording& given, Tally& tally) {
    for (const Recording::Final& final : given.finals) {
      const auto s = static_cast<size_t>(final.sequence);
      if (sampler_.failed(s)) {
        tally.add(Tally::kFailed, 1);
        continue;
      }
      note_likelihood(final.log_weight, sampler_.sample(s).log_z,
                      sampler_.batch().length(final.sequence), tally);
      tally.add(Tally::kEss, sampler_.sample(s).ess);
    }
    sampler_.count_rows(tally);
  }

  bool is_exact_;
  ForestSampler sampler_;
  LogZBrackets brackets_;
  GivenTaggings taggings_;
  BatchGradient batch_gradient_;
  ForestGradient forest_gradient_;
  std::vector<double> given_weights_, sampled_weights_;
};

class ConditionalLikelihood : public Objective {
 public:
  explicit ConditionalLikelihood(const ConditionalOptions& options) : options_(options) {}
  std::string name() const override { return "conditional likelihood"; }
  ParamGroup group() const override { return ParamGroup::kModel; }
  int shard() const override { return 8; }
  std::unique_ptr<ObjectiveWorker> make_worker(const Program& program,
                                               const Parameters& parameters) const override {
    return std::make_unique<Worker>(program, parameters, settle(options_, program));
  }

 private:
  ConditionalOptions options_;
};

}  // namespace

std::span<const ContrastRow> contrast_table() { return kTable; }
const ContrastRow& row_of(Contrast contrast) { return kTable[static_cast<size_t>(contrast)]; }

ConditionalOptions settle(ConditionalOptions options, const Program& program) {
  if (options.contrast == Contrast::kAuto)
    options.contrast = program.has_proposal() ? Contrast::kRanking : Contrast::kDiscrete;
  options.particles = std::max(options.particles, row_of(options.contrast).least_particles);
  return options;
}

std::unique_ptr<Objective> make_conditional_likelihood(const ConditionalOptions& options) {
  return std::make_unique<ConditionalLikelihood>(options);
}

}  // namespace scry
