#include "runtime/search/exact.h"

#include <fmt/format.h>

#include <mutex>
#include <optional>

#include "runtime/kernels/workers.h"
#include "runtime/search/lattice_sums.h"
#include "runtime/search/search.h"
#include "runtime/smc/check_input.h"
#include "runtime/smc/end_of_sequence.h"
#include "runtime/smc/memory.h"

namespace scry {

Ensemble exact(Sampler& sampler, const SampleInput& input, const SampleOptions& options) {
  const Program& program = sampler.program();
  const EndedInputs ended(program.task, std::span(&input, 1));
  check_input(program, ended.front(), options.first_sequence);
  const double count = count_taggings(input, program.task);
  if (count <= static_cast<double>(options.max_rows)) {
    SampleOptions all = options;
    all.method = Method::kEnumerate;
    return sampler.sample(input, all);
  }
  if (has_finite_states(program))
    return sample_finite(program, sampler.parameters(), input, options);
  throw SamplingError(
      Trouble::kTooManyRows, options.first_sequence, 0,
      fmt::format("there are {:.3g} taggings, more than the {} to be enumerated, and the model's "
                  "states are not finite: sample, or raise the limit",
                  count, options.max_rows));
}

double count_taggings(const SampleInput& input, const Task& task) {
  double count = 1;
  const auto length = static_cast<int>(without_end(input.x, task.x).size());
  for (int step = 1; step <= length; ++step) {
    int allowed = 0;
    for (int tag = 0; tag < task.y.size(); ++tag)
      allowed += task.y.eos() != tag && input.allowed.allows(step, tag) ? 1 : 0;
    count *= allowed;
  }
  return count;
}

double finite_log_z(const Program& program, const Parameters& parameters, const SampleInput& input,
                    const SampleOptions& options) {
  check_finite_states(program);
  const EndedInputs ended(program.task, std::span(&input, 1));
  check_input(program, ended.front(), options.first_sequence);
  return LatticeSums(build_lattice(program, parameters, ended.front(), options.first_sequence,
                                   {options.max_rows, options.memory}),
                     options.temperature)
      .log_z();
}

std::unique_ptr<Posterior> exact_posterior(const Program& program, const Parameters& parameters,
                                           const SampleInput& input, const SampleOptions& options) {
  if (has_finite_states(program) &&
      count_taggings(input, program.task) > static_cast<double>(options.max_rows))
    return finite_posterior(program, parameters, input, options);
  return enumerated_posterior(exact(program, parameters, input, options), program.num_tags());
}

std::vector<Outcome> exact(const Program& program, const Parameters& parameters,
                           std::span<const SampleInput> inputs, const SampleOptions& options) {
  std::vector<Outcome> outcomes(inputs.size());
  Workers workers(options.threads);
  std::mutex mutex;
  size_t num_done = 0;
  const auto num_inputs = static_cast<int64_t>(inputs.size());
  const int threads = workers.size() > 1 && inputs.size() > 1 ? 1 : options.threads;
  std::vector<std::optional<Sampler>> samplers(static_cast<size_t>(workers.size()));
  run_in_memory(workers, num_inputs, options.memory, [&](int worker, int64_t i, int64_t bytes) {
    std::optional<Sampler>& sampler = samplers[static_cast<size_t>(worker)];
    if (!sampler) sampler.emplace(program, parameters, threads);
    SampleOptions mine = options;
    mine.memory = bytes;
    mine.first_sequence += i;
    mine.progress = {};
    Outcome& outcome = outcomes[static_cast<size_t>(i)];
    outcome.error.reset();
    try {
      outcome.ensemble = exact(*sampler, inputs[static_cast<size_t>(i)], mine);
    } catch (const SamplingError& error) {
      outcome.error = error;
    }
    if (outcome.error && outcome.error->trouble() == Trouble::kTooMuchMemory) return false;
    const std::lock_guard lock(mutex);
    ++num_done;
    if (options.progress) options.progress(num_done);
    return true;
  });
  return outcomes;
}

Ensemble exact(const Program& program, const Parameters& parameters, const SampleInput& input,
               const SampleOptions& options) {
  Sampler sampler(program, parameters, options.threads);
  return exact(sampler, input, options);
}

}  // namespace scry
