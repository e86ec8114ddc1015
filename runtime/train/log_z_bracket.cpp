#include "runtime/train/log_z_bracket.h"

#include "runtime/kernels/philox.h"
#include "runtime/train/training_error.h"

namespace scry {

LogZBrackets::LogZBrackets(const Program& program, const Parameters& parameters, int particles)
    : options_{.method = default_method(program.has_proposal()),
               .tolerance = 0,
               .error_bar = false},
      particles_(particles),
      interpreter_(program, parameters, options_) {}

std::vector<std::optional<double>> LogZBrackets::estimate(std::span<const TrainExample> examples,
                                                          uint64_t seed, int particles,
                                                          bool retains) {
  options_.seed = seed;
  options_.particles = particles;
  interpreter_.set_options(options_);
  std::vector<SampleInput> inputs;
  std::vector<Outcome> outcomes(examples.size());
  std::vector<Job> jobs;
  for (const TrainExample& example : examples)
    inputs.emplace_back(example.x, TagSets(), retains ? example.y : std::span<const int>());
  for (size_t i = 0; i < examples.size(); ++i)
    jobs.push_back({&inputs[i], examples[i].number, &outcomes[i]});
  interpreter_.run(jobs);
  std::vector<std::optional<double>> log_zs;
  for (const Outcome& outcome : outcomes) {
    log_zs.emplace_back();
    if (!outcome.error) {
      log_zs.back() = outcome.ensemble.log_z;
    } else if (outcome.error->trouble() != Trouble::kNoMass &&
               outcome.error->trouble() != Trouble::kImpossible) {
      throw TrainingError(outcome.error->what());
    }
  }
  return log_zs;
}

void LogZBrackets::run(std::span<const TrainExample> examples, uint64_t seed) {
  const auto small_low = estimate(examples, derive_seed(seed, 1), particles_, false),
             small_high = estimate(examples, derive_seed(seed, 2), particles_, true),
             low = estimate(examples, derive_seed(seed, 3), 4 * particles_, false),
             high = estimate(examples, derive_seed(seed, 4), 4 * particles_, true);
  brackets_.assign(examples.size(), std::nullopt);
  for (size_t i = 0; i < examples.size(); ++i) {
    if (small_low[i] && small_high[i] && low[i] && high[i])
      brackets_[i] = LogZBracket{*low[i], *high[i], *small_low[i], *small_high[i]};
  }
}

}  // namespace scry
