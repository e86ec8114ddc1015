// What sampling costs with the paper's tagger (lesson 3): time for words, on one thread and on all;
// memory for long sequences. Prints tables; --json prints one object a line.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <utility>

#include "bench/table.h"
#include "examples/03_stress_tagger.cpp"
#include "runtime/files/examples_file.h"

using namespace scry::bench;

namespace {

/// Of all of this process's threads; whoever else runs on the machine is not in it.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool resamples(Method method) { return row_of(method).selects == Selects::kDraws; }
std::string method_name(Method method) {
  const MethodRow& row = row_of(method);
  return has_variants(row.name) && row.looks_ahead() ? fmt::format("{} ahead", row.name) : row.name;
}
std::string trigger_name(const SampleOptions& options) {
  if (!resamples(options.method)) return Table::kNothing;
  return options.trigger == Trigger::kNever ? "never" : "ESS";
}

// ---- Speed.

struct NamedParameters {
  std::string name;
  Parameters values;
};

/// One way to sample all words; how long it took at best.
struct Case {
  const NamedParameters* parameters;
  SampleOptions options;
  double best_seconds = INFINITY;
  int64_t num_rows = 0;

  bool differs_only_in_size(const Case& other) const {
    return parameters == other.parameters && options.method == other.options.method &&
           options.trigger == other.options.trigger;
  }
};

std::vector<Case> make_cases(const std::vector<NamedParameters>& settings) {
  std::vector<Case> cases;
  for (const NamedParameters& parameters : settings) {
    for (const Method method : {Method::kSmooth, Method::kDiscreteAhead, Method::kFilter,
                                Method::kDiscrete, Method::kBeam}) {
      for (const Trigger trigger : {Trigger::kNever, Trigger::kEss}) {
        if (!resamples(method) && trigger == Trigger::kEss) continue;
        for (const int particles : {32, 128}) {
          SampleOptions options{
              .method = method, .particles = particles, .trigger = trigger, .threads = 1};
          cases.push_back({&parameters, options});
        }
        SampleOptions all_cores = cases.back().options;
        all_cores.threads = 0;
        cases.push_back({&parameters, all_cores});
      }
    }
  }
  return cases;
}

/// The best of interleaved rounds, for as long as the budget lasts: noise only ever adds.
void measure(const Program& program, const std::vector<SampleInput>& inputs,
             std::vector<Case>& cases) {
  constexpr double kBudgetSeconds = 9;
  constexpr int kMinRounds = 3;
  const auto begin = std::chrono::steady_clock::now();
  double round_seconds = 0;
  for (int round = 0; round < kMinRounds || seconds_since(begin) + round_seconds < kBudgetSeconds;
       ++round) {
    const auto round_begin = std::chrono::steady_clock::now();
    for (Case& one : cases) {
      const auto start = std::chrono::steady_clock::now();
      const std::vector<Outcome> outcomes =
          sample(program, one.parameters->values, inputs, one.options);
      one.best_seconds = std::min(one.best_seconds, seconds_since(start));
      one.num_rows = 0;
      for (const Outcome& outcome : outcomes) one.num_rows += outcome.value().num_rows();
    }
    round_seconds = seconds_since(round_begin);
  }
}

void report_speed(const Program& program, const std::vector<SampleInput>& inputs,
                  const std::vector<NamedParameters>& settings, bool json) {
  std::vector<Case> cases = make_cases(settings);
  measure(program, inputs, cases);
  double num_steps = 0;
  for (const SampleInput& input : inputs) num_steps += static_cast<double>(input.x.size());
  const auto num_words = static_cast<double>(inputs.size());

  Table speed(json, fmt::format("Speed on one thread: {} words, {} steps", num_words, num_steps));
  for (const Case& one : cases) {
    if (one.options.threads != 1) continue;
    const double particle_steps = one.options.particles * num_steps;
    const auto rows = static_cast<double>(one.num_rows);
    speed.add(
        {{"method", method_name(one.options.method)},
         {"M", std::to_string(one.options.particles)},
         {"resampling", trigger_name(one.options)},
         {"parameters", one.parameters->name}},
        {{"words/s", "speed", "sequences/s", num_words / one.best_seconds},
         {"us/(M T)", "time per particle-step", "us", 1e6 * one.best_seconds / particle_steps},
         {"us/row", "time per row", "us", 1e6 * one.best_seconds / rows},
         {"rows/(M T)", "rows over M T", "ratio", rows / particle_steps}});
  }

  // What a discrete set costs beside as many particles that propose by the same kernels. It has M
  // different prefixes, where particles that meet share one.
  Table beside(json, "A discrete set beside as many particles: time over theirs");
  for (const Case& one : cases) {
    const Method particles = one.options.method == Method::kDiscreteAhead ? Method::kSmooth
                             : one.options.method == Method::kDiscrete    ? Method::kFilter
                                                                          : one.options.method;
    if (one.options.threads != 1 || particles == one.options.method) continue;
    for (const Case& other : cases) {
      if (other.options.method != particles || other.options.threads != 1 ||
          other.options.particles != one.options.particles ||
          other.options.trigger != Trigger::kEss || other.parameters != one.parameters)
        continue;
      const double time = one.best_seconds / other.best_seconds;
      const double rows = static_cast<double>(one.num_rows) / static_cast<double>(other.num_rows);
      beside.add({{"method", method_name(one.options.method)},
                  {"beside", method_name(particles)},
                  {"M", std::to_string(one.options.particles)},
                  {"parameters", one.parameters->name}},
                 {{"time", "time of a discrete set over that of particles", "ratio", time},
                  {"rows", "rows of a discrete set over those of particles", "ratio", rows},
                  {"time/row", "time per row of a discrete set over that of particles", "ratio",
                   time / rows}});
    }
  }

  Table ratios(json, "Ratios: time of M = 128 over M = 32; speed-up by all cores at M = 128");
  for (const Case& one : cases) {
    if (one.options.threads != 1 || one.options.particles != 128) continue;
    double small = NAN, all_cores = NAN;
    for (const Case& other : cases) {
      if (!other.differs_only_in_size(one)) continue;
      if (other.options.particles == 32) small = other.best_seconds;
      if (other.options.threads == 0) all_cores = other.best_seconds;
    }
    ratios.add({{"method", method_name(one.options.method)},
                {"resampling", trigger_name(one.options)},
                {"parameters", one.parameters->name}},
               {{"M 128/32", "time of M = 128 over M = 32", "ratio", one.best_seconds / small},
                {"all cores", "speed of all cores over one thread", "ratio",
                 one.best_seconds / all_cores}});
  }
}

// ---- Memory.

/// What one long sequence took.
struct LongRun {
  double peak_bytes;      ///< over what there was before
  double returned_bytes;  ///< of the ensemble
  double cpu_seconds;
  double rows;
  double resamplings;
};

double returned_bytes(const Ensemble& ensemble) {
  size_t total = ensemble.tags.size() * sizeof(int32_t) + ensemble.size() * 20;
  for (const StepRecord& step : ensemble.steps)
    total += sizeof step + step.ancestors.size() * sizeof(int32_t);
  return static_cast<double>(total);
}

/// The most memory this process has had, since its beginning or the last reset.
double peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return 1024 * std::stod(line.substr(6));
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}
void reset_peak() {
  malloc_trim(0);  // memory that was freed earlier must not serve the run unseen
  // Where it is not permitted, the peak is the fresh process's, which the run soon passes.
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;
}

LongRun run_long(const Program& program, const Parameters& parameters, std::span<const int> x,
                 const SampleOptions& options) {
  (void)sample(program, parameters, {x.first(100), {}}, options);  // load code and constants
  LongRun result{};
  reset_peak();
  const double peak_before = peak_bytes(), start = cpu_seconds();
  const Ensemble ensemble = sample(program, parameters, {x, {}}, options);
  result.cpu_seconds = cpu_seconds() - start;
  result.peak_bytes = peak_bytes() - peak_before;
  result.returned_bytes = returned_bytes(ensemble);
  result.rows = static_cast<double>(ensemble.num_rows());
  result.resamplings = static_cast<double>(
      std::ranges::count_if(ensemble.steps, [](const StepRecord& s) { return s.resampled; }));
  return result;
}

/// In a process of its own, so that no run finds memory that another has left. This process must
/// not have started threads.
LongRun run_long_apart(const Program& program, const Parameters& parameters, std::span<const int> x,
                       const SampleOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) throw Error("the memory benchmark needs a pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw Error("the memory benchmark needs to fork");
  if (child == 0) {
    bool done = false;
    try {
      const LongRun result = run_long(program, parameters, x, options);
      done = write(ends[1], &result, sizeof result) == sizeof result;
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
    _exit(done ? 0 : 1);
  }
  close(ends[1]);
  LongRun result{};
  const bool done = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!done) throw Error("a long run failed");
  return result;
}

/// The least-squares slope of log y over log x.
double log_log_slope(const std::vector<std::pair<double, double>>& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& point : points) {
    const double a = std::log(point.first), b = std::log(point.second);
    x += a, y += b, xx += a * a, xy += a * b;
  }
  const auto n = static_cast<double>(points.size());
  return (n * xy - x * y) / (n * xx - x * x);
}

void report_memory(const Program& program, const std::vector<SampleInput>& words,
                   const Parameters& parameters, bool json) {
  constexpr int kMaxLength = 10000, kRounds = 3;
  std::vector<int> x;  // words, over and over
  for (size_t i = 0; x.size() < kMaxLength; ++i) {
    const std::span<const int> word = words[i % words.size()].x;
    x.insert(x.end(), word.begin(), word.end());
  }
  SampleOptions options{.particles = 100, .threads = 1};
  Table table(json, "Memory: one sequence, resampling by ESS, one thread, untrained");
  std::vector<std::pair<double, double>> bytes, seconds;
  const auto add = [&](int length) {
    LongRun run{};
    for (int round = 0; round < kRounds; ++round) {
      const std::span<const int> start = std::span(x).first(static_cast<size_t>(length));
      const LongRun again = run_long_apart(program, parameters, start, options);
      if (round == 0) run = again;
      run.cpu_seconds = std::min(run.cpu_seconds, again.cpu_seconds);
      run.peak_bytes = std::max(run.peak_bytes, again.peak_bytes);
    }
    const double steps = length;
    bytes.emplace_back(steps, run.peak_bytes);
    seconds.emplace_back(steps, run.cpu_seconds);
    table.add({{"method", method_name(options.method)},
               {"M", std::to_string(options.particles)},
               {"T", std::to_string(length)}},
              {{"peak MB", "peak memory", "MB", 1e-6 * run.peak_bytes},
               {"bytes/step", "peak memory per step", "bytes", run.peak_bytes / steps},
               {"returned/step", "returned memory per step", "bytes", run.returned_bytes / steps},
               {"CPU us/step", "CPU time per step", "us", 1e6 * run.cpu_seconds / steps},
               {"rows/(M T)", "rows over M T", "ratio", run.rows / (options.particles * steps)},
               {"resampled", "steps that resampled", "ratio", run.resamplings / steps}});
  };
  for (const int length : {1000, 2000, 5000, kMaxLength}) add(length);
  const double memory_slope = log_log_slope(bytes), time_slope = log_log_slope(seconds);
  options.method = Method::kFilter;
  add(kMaxLength);
  Table slopes(json, "Exponents over T (1 = linear)");
  slopes.add({{"method", "smooth"}},
             {{"memory", "exponent of memory over T", "exponent", memory_slope},
              {"time", "exponent of time over T", "exponent", time_slope}});
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::string_view(argv[1]) == "--json";
  const Bundle bundle = registered_model();
  const Program program = compile(bundle, {.gradients = false, .use_cache = false});
  const std::vector<Example> examples =
      read_examples(SCRY_SOURCE_DIR "/data/stress/dev1.tsv", bundle.model->task());
  std::vector<SampleInput> inputs;  // the file is in a random order: the first have all lengths
  for (size_t i = 0; i < 100; ++i) inputs.push_back({examples.at(i).x, {}});

  // Trained models have few prefixes that matter; large parameters stand in for them.
  std::vector<NamedParameters> settings{{"untrained", Parameters::fresh(program, 1)},
                                        {"peaked", Parameters::fresh(program, 1)}};
  RealBuffer& peaked = settings[1].values.values;
  for (int64_t i = 0; i < peaked.size(); ++i) peaked.set(i, 6 * peaked.get(i));
  settings[1].values.prepare(program);

  report_memory(program, inputs, settings[0].values, json);  // forks: before threads are started
  report_speed(program, inputs, settings, json);
}
