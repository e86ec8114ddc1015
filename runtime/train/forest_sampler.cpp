#include "runtime/train/forest_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/smc/memory.h"
#include "runtime/train/training_error.h"

namespace scry {

ForestSampler::ForestSampler(const Program& program, const Parameters& parameters,
                             const SampleOptions& options, bool keeps_cells, GivenUse use)
    : program_(program),
      options_(options),
      use_(use),
      interpreter_(program, parameters, options),
      recording_(program, keeps_cells) {}

void ForestSampler::set_memory(int64_t bytes) {
  options_.memory = limit_ = bytes;
  interpreter_.set_options(options_);
}

void ForestSampler::check_memory() {
  if (limit_ == 0) return;
  double needed = 0;
  size_t longest = 0;
  for (const SampleInput& input : inputs_) {
    const auto [found, is_new] = bytes_.try_emplace(input.x.size(), 0);
    if (is_new) found->second = recorded_bytes(program_, SampleInput(input.x), options_);
    needed += found->second;
    longest = std::max(longest, input.x.size());
  }
  if (needed <= static_cast<double>(limit_)) return;
  throw Error(fmt::format(
      "{} of up to {} symbols with {} particles may need about {}, and a thread has {}; allow more "
      "(--memory), or use fewer threads or particles",
      inputs_.size() == 1 ? "a sequence" : fmt::format("{} sequences", inputs_.size()), longest,
      options_.particles, format_memory(needed), format_memory(static_cast<double>(limit_))));
}

const Recording& ForestSampler::run(std::span<const TrainExample> examples, uint64_t seed,
                                    bool log_sums) {
  interpreter_.set_seed(seed);
  recording_.keeps_log_sums = log_sums;
  inputs_.clear();
  jobs_.clear();
  outcomes_.assign(examples.size(), {});
  for (const TrainExample& example : examples)
    inputs_.emplace_back(
        example.x,
        use_ == GivenUse::kAllow && example.allowed != nullptr ? *example.allowed : TagSets(),
        use_ == GivenUse::kRetain ? example.y : std::span<const int>());
  for (size_t i = 0; i < examples.size(); ++i)
    jobs_.push_back({&inputs_[i], examples[i].number, &outcomes_[i]});
  check_memory();
  interpreter_.run(jobs_, &recording_);
  for (const Outcome& outcome : outcomes_) {
    if (outcome.error && outcome.error->trouble() != Trouble::kNoMass &&
        outcome.error->trouble() != Trouble::kImpossible)
      throw TrainingError(outcome.error->what());
  }
  summarize();
  return recording_;
}

void ForestSampler::count_rows(Tally& tally) const {
  int64_t num_steps = 0;
  for (size_t s = 0; s < samples_.size(); ++s) num_steps += batch().length(static_cast<int>(s));
  tally.add(Tally::kParticleSteps, static_cast<double>(options_.particles * num_steps));
  tally.add(Tally::kRows, static_cast<double>(recording_.states.num_rows()));
}

void ForestSampler::summarize() {
  samples_.assign(jobs_.size(), {});
  for (size_t i = 0; i < recording_.finals.size(); ++i)
    samples_[static_cast<size_t>(recording_.finals[i].sequence)].finals.push_back(i);
  for (Sample& sample : samples_) {
    log_weights_.clear();
    for (size_t i : sample.finals) log_weights_.push_back(recording_.finals[i].log_weight);
    sample.log_z = log_sum_exp(log_weights_);
    double squares = 0;
    for (size_t i : sample.finals) {
      const Recording::Final& final = recording_.finals[i];
      const double share = std::exp(final.log_weight - sample.log_z);
      squares += share * share / final.count;
      sample.num_live += final.count;
    }
    sample.ess = squares == 0 ? 0 : 1 / squares / options_.particles;
  }
}

}  // namespace scry
