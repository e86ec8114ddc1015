#include "runtime/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "runtime/check_input.h"
#include "runtime/end_of_sequence.h"
#include "runtime/interpreter.h"

namespace scry {
namespace {

constexpr int kDefaultBatch = 32;

void check_method(const Program& program, const SampleOptions& options) {
  const bool needs_proposal =
      options.method == Method::kSmooth || options.method == Method::kBeamAhead;
  if (needs_proposal && !program.has_proposal())
    throw Error("the model has no proposal to look ahead with; use filter or beam");
}

/// The one tagging of no symbols.
Ensemble empty_tagging(const SampleOptions& options, int64_t sequence) {
  return make_population(options, sequence, 0)->finish(Forest(1), std::vector<RowId>{0});
}

/// Of ended inputs; so are the taggings.
std::vector<Outcome> sample_ended(const Program& program, const Parameters& parameters,
                                  std::span<const SampleInput> inputs,
                                  const SampleOptions& options) {
  check_options(program, options);
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
  size_t num_done = inputs.size() - jobs.size();
  if (jobs.empty()) return outcomes;
  // Like lengths together.
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    return a.input->x.size() > b.input->x.size();
  });

  SampleOptions settled = options;
  if (options.trigger == Trigger::kAuto) {
    settled.trigger = options.method == Method::kImportance ? Trigger::kNever : Trigger::kEss;
  }
  Workers workers(options.threads);
  const auto num_jobs = static_cast<int64_t>(jobs.size()), num_workers = int64_t{workers.size()};
  const int64_t batch =
      options.batch > 0 ? options.batch
      : num_jobs < num_workers
          ? num_jobs
          : std::clamp<int64_t>((num_jobs + num_workers - 1) / num_workers, 1, kDefaultBatch);
  const int64_t num_batches = (num_jobs + batch - 1) / batch;
  const auto batch_jobs = [&](int64_t b) {
    return std::span(jobs).subspan(static_cast<size_t>(b * batch),
                                   static_cast<size_t>(std::min(batch, num_jobs - b * batch)));
  };
  std::mutex mutex;
  const auto report = [&](size_t count) {
    const std::lock_guard lock(mutex);
    num_done += count;
    if (options.progress) options.progress(num_done);
  };
  if (num_batches < num_workers) {  // share out the rows of each level
    Interpreter interpreter(program, parameters, settled, &workers);
    for (int64_t b = 0; b < num_batches; ++b) {
      interpreter.run(batch_jobs(b));
      report(batch_jobs(b).size());
    }
    return outcomes;
  }
  std::vector<std::unique_ptr<Interpreter>> interpreters(static_cast<size_t>(num_workers));
  workers.for_each(num_batches, [&](int worker, int64_t b) {
    std::unique_ptr<Interpreter>& mine = interpreters[static_cast<size_t>(worker)];
    if (mine == nullptr) mine = std::make_unique<Interpreter>(program, parameters, settled);
    mine->run(batch_jobs(b));
    report(batch_jobs(b).size());
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
