#include "runtime/smc/sampler.h"

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
  const MethodRow& method = row_of(options.method);
  if (method.make == nullptr) {
    throw Error(fmt::format(
        "{} does not sample step by step; call exact, viterbi or search_best_first", method.name));
  }
  if (method.needs_lookahead() && !program.has_proposal())
    throw Error(
        "the model has no proposal to look ahead with; use filter, discrete or beam by score");
}

/// That a given tagging can be retained.
void check_retains(const SampleOptions& options) {
  const MethodRow& method = row_of(options.method);
  if (!method.retains)
    throw Error(fmt::format("{} cannot retain a given tagging; use filter, smooth or discrete",
                            method.name));
  if (options.draws == Draws::kArithmetic)
    throw Error("arithmetic draws cannot retain a given tagging; draw independently");
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
    const bool keeps_all = row_of(options.method).selects == Selects::kAll;
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
  const auto population = row_of(options.method).make(options, SampleInput(), sequence);
  return population->finish(Forest(1), std::vector<RowId>{0});
}

}  // namespace

Sampler::Sampler(const Program& program, const Parameters& parameters, int threads)
    : program_(&program), parameters_(&parameters), threads_(threads) {}

Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::~Sampler() = default;

Workers& Sampler::workers() {
  if (workers_ == nullptr) {
    workers_ = std::make_unique<Workers>(threads_);
    by_batch_.resize(static_cast<size_t>(workers_->size()));
  }
  return *workers_;
}

/// Kernels hold the addresses of values and tables, which move if others are moved into their
/// place.
void Sampler::unbind_if_moved() {
  const void *values = parameters_->values.at(), *tables = parameters_->tables.at();
  if (values == values_ && tables == tables_) return;
  by_rows_.reset();
  for (std::unique_ptr<Interpreter>& interpreter : by_batch_) interpreter.reset();
  values_ = values;
  tables_ = tables;
}

Interpreter& Sampler::bind(std::unique_ptr<Interpreter>& interpreter, const SampleOptions& options,
                           Workers* workers) {
  if (interpreter == nullptr) {
    interpreter = std::make_unique<Interpreter>(*program_, *parameters_, options, workers);
  } else {
    interpreter->set_options(options);
  }
  return *interpreter;
}

/// Of ended inputs; so are the taggings.
std::vector<Outcome> Sampler::sample_ended(std::span<const SampleInput> inputs,
                                           const SampleOptions& options) {
  check_options(options);
  check_method(*program_, options);
  std::vector<Outcome> outcomes(inputs.size());
  std::vector<Job> jobs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t sequence = options.first_sequence + static_cast<int64_t>(i);
    if (!inputs[i].given.empty()) check_retains(options);
    try {
      check_input(*program_, inputs[i], sequence);
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

  SampleOptions settled = with_defaults(options);
  const std::vector<double> bytes = check_memory(*program_, settled, jobs);
  run(jobs, bytes, std::move(settled), inputs.size() - jobs.size());
  return outcomes;
}

/// `num_done` inputs need no run.
void Sampler::run(std::span<const Job> jobs, std::span<const double> bytes, SampleOptions options,
                  size_t num_done) {
  std::mutex mutex;
  const auto report = [&](size_t count) {
    const std::lock_guard lock(mutex);
    num_done += count;
    if (options.progress) options.progress(num_done);
  };
  unbind_if_moved();
  Workers& team = workers();
  const BatchPlan plan = plan_batches(options, bytes, team.size());
  // What one way of sharing out keeps in memory is not there for the other.
  if (!plan.by_rows.empty()) {  // share out the rows of each level
    for (std::unique_ptr<Interpreter>& interpreter : by_batch_) {
      if (interpreter != nullptr) interpreter->release();
    }
    Interpreter& all = bind(by_rows_, options, &team);
    for (const JobRange& range : plan.by_rows) {
      all.run(range.of(jobs));
      report(range.count);
    }
  }
  if (plan.by_batch.empty()) return;
  if (by_rows_ != nullptr) by_rows_->release();
  options.memory /= team.size();
  // All of them now: which workers will come to run a batch is chance.
  for (std::unique_ptr<Interpreter>& interpreter : by_batch_) bind(interpreter, options, nullptr);
  team.for_each(static_cast<int64_t>(plan.by_batch.size()), [&](int worker, int64_t b) {
    const JobRange& range = plan.by_batch[static_cast<size_t>(b)];
    by_batch_[static_cast<size_t>(worker)]->run(range.of(jobs));
    report(range.count);
  });
}

std::vector<Outcome> Sampler::sample(std::span<const SampleInput> inputs,
                                     const SampleOptions& options) {
  const EndedInputs ended(program_->task, inputs);
  std::vector<Outcome> outcomes = sample_ended(ended.all(), options);
  for (Outcome& outcome : outcomes) {
    drop_end(program_->task, outcome.ensemble);
    if (options.weights == Weights::kScore && !outcome.error) weigh_by_score(outcome.ensemble);
  }
  return outcomes;
}

std::vector<Outcome> Sampler::sample_runs(std::span<const SampleInput> inputs,
                                          const SampleOptions& options, int num_runs) {
  if (num_runs < 1) throw Error(fmt::format("runs: {}, but at least 1 is needed", num_runs));
  std::vector<std::vector<Ensemble>> runs(inputs.size());
  std::vector<int> num_empty(inputs.size(), 0);
  std::vector<Outcome> pooled(inputs.size());
  for (int run = 0; run < num_runs; ++run) {
    SampleOptions mine = options;
    mine.weights = Weights::kSampler;  // scores weigh what all runs found
    mine.seed = derive_seed(options.seed, static_cast<uint32_t>(run));
    mine.progress = [&](size_t done) {
      const size_t before = static_cast<size_t>(run) * inputs.size();
      if (options.progress) options.progress((before + done) / static_cast<size_t>(num_runs));
    };
    std::vector<Outcome> outcomes = sample(inputs, mine);
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
    if (options.weights == Weights::kScore) weigh_by_score(pooled[i].ensemble);
  }
  return pooled;
}

Ensemble Sampler::sample(const SampleInput& input, const SampleOptions& options) {
  std::vector<Outcome> outcomes = sample(std::span(&input, 1), options);
  if (outcomes[0].error) throw SamplingError(*outcomes[0].error);
  return std::move(outcomes[0].ensemble);
}

}  // namespace scry
