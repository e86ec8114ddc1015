#include "runtime/smc/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "runtime/smc/check_input.h"
#include "runtime/smc/end_of_sequence.h"
#include "runtime/smc/interpreter.h"
#include "runtime/smc/memory.h"

namespace scry {
namespace {

constexpr size_t kMostTogether = 32;

void check_method(const Program& program, const SampleOptions& options) {
  const bool needs_proposal =
      options.method == Method::kSmooth || options.method == Method::kBeamAhead;
  if (needs_proposal && !program.has_proposal())
    throw Error("the model has no proposal to look ahead with; use filter or beam");
}

/// Consecutive jobs that run together.
struct JobRange {
  size_t first, count;
  std::span<const Job> of(std::span<const Job> jobs) const { return jobs.subspan(first, count); }
};
struct BatchPlan {
  std::vector<JobRange> by_rows;   ///< one after the other, each by all workers
  std::vector<JobRange> by_batch;  ///< each by one worker
};

/// What each job takes, at most; those that take more than there is fail and leave.
std::vector<double> check_memory(const Program& program, const SampleOptions& options,
                                 std::vector<Job>& jobs) {
  std::vector<double> bytes;
  std::erase_if(jobs, [&](const Job& job) {
    const double needed = sampling_bytes(program, *job.input, options);
    if (needed <= static_cast<double>(options.memory)) {
      bytes.push_back(needed);
      return false;
    }
    const bool keeps_all = options.method == Method::kEnumerate;
    job.outcome->error.emplace(
        Trouble::kTooMuchMemory, job.sequence, 0,
        fmt::format("{} symbols with {} {} may need about {}, and {} are allowed; allow more "
                    "(--memory {}), or use fewer {}",
                    job.input->x.size(), keeps_all ? options.max_rows : options.particles,
                    keeps_all ? "prefixes" : "particles", format_memory(needed),
                    format_memory(static_cast<double>(options.memory)), suggest_memory(needed),
                    keeps_all ? "prefixes (--max-rows)" : "particles"));
    return true;
  });
  return bytes;
}

/// Batches that fit a worker's share of the memory; what does not is run by all workers together,
/// as is everything where there would be fewer batches than workers.
BatchPlan plan_batches(const SampleOptions& options, std::span<const double> bytes,
                       int num_workers) {
  const size_t num_jobs = bytes.size(), workers = static_cast<size_t>(num_workers);
  const size_t most = options.batch > 0    ? static_cast<size_t>(options.batch)
                      : num_jobs < workers ? num_jobs
                                           : std::clamp<size_t>((num_jobs + workers - 1) / workers,
                                                                1, kMostTogether);
  const auto cut = [&](size_t first, double share) {
    std::vector<JobRange> ranges;
    double total = 0;
    for (size_t i = first; i < num_jobs; ++i) {
      total += bytes[i];
      if (ranges.empty() || ranges.back().count == most || total > share) {
        ranges.push_back({i, 0});
        total = bytes[i];
      }
      ++ranges.back().count;
    }
    return ranges;
  };
  // A quarter is for the candidates of a part.
  const double all = 0.75 * static_cast<double>(options.memory), share = all / num_workers;
  size_t num_large = num_jobs;
  while (num_large > 0 && bytes[num_large - 1] <= share) --num_large;
  BatchPlan plan{{}, cut(num_large, share)};
  if (plan.by_batch.size() < workers) return {cut(0, all), {}};
  for (size_t i = 0; i < num_large; ++i) plan.by_rows.push_back({i, 1});
  return plan;
}

/// The one tagging of no symbols.
Ensemble empty_tagging(const SampleOptions& options, int64_t sequence) {
  return make_population(options, sequence, 0)->finish(Forest(1), std::vector<RowId>{0});
}

/// Of ended inputs; so are the taggings.
std::vector<Outcome> sample_ended(const Program& program, const Parameters& parameters,
                                  std::span<const SampleInput> inputs,
                                  const SampleOptions& options) {
  check_options(options);
  check_method(program, options);
  std::vector<Outcome> outcomes(inputs.size());
  std::vector<Job> jobs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t sequence = options.first_sequence + static_cast<int64_t>(i);
    try {
      check_input(program, inputs[i], sequence);
      if (inputs[i].x.empty()) {
        outcomes[i].ensemble = empty_tagging(options, sequence);
      } else {
        jobs.push_back({&inputs[i], sequence, &outcomes[i]});
      }
    } catch (const SamplingError& error) {
      outcomes[i].error = error;
    }
  }
  // Like lengths together.
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    return a.input->x.size() > b.input->x.size();
  });

  SampleOptions settled = options;
  if (options.trigger == Trigger::kAuto) {
    settled.trigger = options.method == Method::kImportance ? Trigger::kNever : Trigger::kEss;
  }
  if (options.memory == 0) settled.memory = default_memory();
  Workers workers(options.threads);
  const std::vector<double> bytes = check_memory(program, settled, jobs);
  std::mutex mutex;
  size_t num_done = inputs.size() - jobs.size();
  const auto report = [&](size_t count) {
    const std::lock_guard lock(mutex);
    num_done += count;
    if (options.progress) options.progress(num_done);
  };
  const BatchPlan plan = plan_batches(settled, bytes, workers.size());
  if (!plan.by_rows.empty()) {  // share out the rows of each level
    Interpreter interpreter(program, parameters, settled, &workers);
    for (const JobRange& range : plan.by_rows) {
      interpreter.run(range.of(jobs));
      report(range.count);
    }
  }
  settled.memory /= workers.size();
  std::vector<std::unique_ptr<Interpreter>> interpreters(static_cast<size_t>(workers.size()));
  workers.for_each(static_cast<int64_t>(plan.by_batch.size()), [&](int worker, int64_t b) {
    std::unique_ptr<Interpreter>& mine = interpreters[static_cast<size_t>(worker)];
    if (mine == nullptr) mine = std::make_unique<Interpreter>(program, parameters, settled);
    const JobRange& range = plan.by_batch[static_cast<size_t>(b)];
    mine->run(range.of(jobs));
    report(range.count);
  });
  return outcomes;
}

}  // namespace

const Ensemble& Outcome::value() const {
  if (error) throw SamplingError(*error);
  return ensemble;
}

std::vector<Outcome> sample(const Program& program, const Parameters& parameters,
                            std::span<const SampleInput> inputs, const SampleOptions& options) {
  const EndedInputs ended(program.task, inputs);
  std::vector<Outcome> outcomes = sample_ended(program, parameters, ended.all(), options);
  for (Outcome& outcome : outcomes) drop_end(program.task, outcome.ensemble);
  return outcomes;
}

std::vector<Outcome> sample_runs(const Program& program, const Parameters& parameters,
                                 std::span<const SampleInput> inputs, const SampleOptions& options,
                                 int num_runs) {
  if (num_runs < 1) throw Error(fmt::format("runs: {}, but at least 1 is needed", num_runs));
  std::vector<std::vector<Ensemble>> runs(inputs.size());
  std::vector<int> num_empty(inputs.size(), 0);
  std::vector<Outcome> pooled(inputs.size());
  for (int run = 0; run < num_runs; ++run) {
    SampleOptions mine = options;
    mine.seed = derive_seed(options.seed, static_cast<uint32_t>(run));
    mine.progress = [&](size_t done) {
      const size_t before = static_cast<size_t>(run) * inputs.size();
      if (options.progress) options.progress((before + done) / static_cast<size_t>(num_runs));
    };
    std::vector<Outcome> outcomes = sample(program, parameters, inputs, mine);
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (!outcomes[i].error) {
        runs[i].push_back(std::move(outcomes[i].ensemble));
      } else {
        if (!pooled[i].error) pooled[i].error = outcomes[i].error;
        if (outcomes[i].error->trouble() == Trouble::kNoMass) ++num_empty[i];
      }
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (runs[i].empty() || static_cast<int>(runs[i].size()) + num_empty[i] < num_runs) continue;
    pooled[i].error.reset();
    pooled[i].ensemble = pool_runs(runs[i], num_empty[i]);
  }
  return pooled;
}

Ensemble sample(const Program& program, const Parameters& parameters, const SampleInput& input,
                const SampleOptions& options) {
  std::vector<Outcome> outcomes = sample(program, parameters, std::span(&input, 1), options);
  if (outcomes[0].error) throw SamplingError(*outcomes[0].error);
  return std::move(outcomes[0].ensemble);
}

namespace {
Ensemble sample_by(Method method, const Program& program, const Parameters& parameters,
                   const SampleInput& input, SampleOptions options) {
  options.method = method;
  return sample(program, parameters, input, options);
}
}  // namespace

Ensemble importance(const Program& program, const Parameters& parameters, const SampleInput& input,
                    SampleOptions options) {
  return sample_by(Method::kImportance, program, parameters, input, std::move(options));
}
Ensemble filter(const Program& program, const Parameters& parameters, const SampleInput& input,
                SampleOptions options) {
  return sample_by(Method::kFilter, program, parameters, input, std::move(options));
}
Ensemble smooth(const Program& program, const Parameters& parameters, const SampleInput& input,
                SampleOptions options) {
  return sample_by(Method::kSmooth, program, parameters, input, std::move(options));
}
Ensemble beam(const Program& program, const Parameters& parameters, const SampleInput& input,
              SampleOptions options) {
  const bool ahead = options.method == Method::kBeamAhead;
  return sample_by(ahead ? Method::kBeamAhead : Method::kBeam, program, parameters, input,
                   std::move(options));
}
Ensemble enumerate(const Program& program, const Parameters& parameters, const SampleInput& input,
                   SampleOptions options) {
  return sample_by(Method::kEnumerate, program, parameters, input, std::move(options));
}

}  // namespace scry
