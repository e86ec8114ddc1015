#include "runtime/smc/memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "runtime/kernels/state_rows.h"

namespace scry {
namespace {

constexpr double kForestRowBytes = 28;     // Forest's columns
constexpr double kGenealogyRowBytes = 32;  // Genealogy::Level's, and an ancestor
constexpr double kChunkRows = 4;           // of a call of a kernel, at least (bound_kernel.h)
constexpr double kParticleBytes = 96;      // Particles' columns, and a child that is not a row yet

bool draws(const SampleOptions& options) {
  return row_of(options.method).selects == Selects::kDraws;
}
bool looks_ahead(const Program& program, const SampleOptions& options) {
  return row_of(options.method).looks_ahead() && program.has_proposal();
}
bool keeps_all(const SampleOptions& options) {
  return row_of(options.method).selects == Selects::kAll;
}

/// The most prefixes that a run can have after each step, from 0.
std::vector<double> bound_rows(const Program& program, const SampleInput& input,
                               const SampleOptions& options) {
  const auto limit =
      static_cast<double>(keeps_all(options) ? options.max_rows : int64_t{options.particles});
  std::vector<double> rows{1};
  for (int step = 1; step <= static_cast<int>(input.x.size()); ++step) {
    int allowed = input.allowed.empty() ? program.num_tags() : 0;
    for (int tag = 0; !input.allowed.empty() && tag < program.num_tags(); ++tag)
      allowed += input.allowed.allows(step, tag) ? 1 : 0;
    rows.push_back(std::min(rows.back() * allowed, limit));
  }
  return rows;
}

double position_bytes(const Program& program, const SampleOptions& options) {
  size_t bytes =
      3 * sizeof(int32_t) + sizeof(double) + row_bytes(program, feature_components(program));
  for (const ScanStage& scan : program.scans) bytes += row_bytes(program, scan_components(scan));
  if (row_of(options.method).looks_ahead()) bytes += row_bytes(program, program.later);
  return static_cast<double>(bytes);
}

/// Of all that is computed beforehand for an input of this length.
double placed_bytes(const Program& program, double length, const SampleOptions& options) {
  double elements = 0;
  const auto add = [&](const PlaceStage& stage) {
    for (const PlacedValue& value : stage.values) {
      double size = value.axes.has_position() ? length : 1;
      for (int axis = 0; axis < value.shape.rank(); ++axis)
        size *= value.shape[axis] == kLength ? length : value.shape[axis];
      elements += size;
    }
  };
  add(program.place);
  for (const ScanStage& scan : program.scans) add(scan.in);
  if (row_of(options.method).looks_ahead()) add(program.back_in), add(program.ahead);
  return elements * static_cast<double>(program.real_size());
}

}  // namespace

int64_t default_memory() {
  double bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  double limit = 0;  // "max" is not read
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit && limit > 0)
    bytes = std::min(bytes, limit);
  return static_cast<int64_t>(bytes / 4);
}

std::string format_memory(double bytes) {
  constexpr std::array kUnits{"bytes", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes, unit > 0 && bytes < 10 ? 1 : 0, kUnits[unit]);
}

std::string suggest_memory(double bytes) {
  constexpr std::array kUnits{'K', 'M', 'G', 'T', 'P'};
  size_t unit = 0;
  bytes /= 1024;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.0f}{}", std::ceil(bytes), kUnits[unit]);
}

bool keeps_next_states(const Program& program, const SampleOptions& options) {
  constexpr int kMostTags = 64;
  return looks_ahead(program, options) && program.num_tags() <= kMostTags;
}

double candidate_bytes(const Program& program, const SampleOptions& options, bool with_states) {
  // g and C as the kernel writes them and as doubles; s_t.
  const size_t bytes =
      (program.real_size() + sizeof(double)) * (looks_ahead(program, options) ? 2 : 1) +
      (with_states ? row_bytes(program, program.state) : 0);
  return static_cast<double>(bytes) * program.num_tags();
}

double ensemble_bytes(const Program& program, const SampleInput& input,
                      const SampleOptions& options) {
  const auto length = static_cast<double>(input.x.size());
  double bytes = bound_rows(program, input, options).back() * (4 * length + 20);
  if (draws(options)) bytes += length * 4 * options.particles;  // ancestors
  return bytes;
}

double sampling_bytes(const Program& program, const SampleInput& input,
                      const SampleOptions& options) {
  const std::vector<double> rows = bound_rows(program, input, options);
  const MethodRow& method = row_of(options.method);
  const Kernel& step =
      looks_ahead(program, options) ? program.extend.forward : program.score.forward;
  double all = 0, most = 0;  // prefixes of all levels; of one that has states
  for (size_t t = 0; t < rows.size(); ++t) {
    all += rows[t];
    if (t + 1 < rows.size()) most = std::max(most, rows[t]);
  }
  const double held =
      method.held_per_prefix * (keeps_all(options) ? rows.back() : options.particles);
  const double candidates = method.held_per_candidate * most * program.num_tags();
  const double state = static_cast<double>(row_bytes(program, program.state));
  const auto length = static_cast<double>(input.x.size());
  return length * position_bytes(program, options) + placed_bytes(program, length, options) +
         all * (kForestRowBytes + (draws(options) ? kGenealogyRowBytes : 0)) +
         2 * most * state +  // of a level and of the next
         (draws(options) && !input.given.empty() ? 2 * most * state : 0) +  // of what follows them
         kParticleBytes * held + candidates +
         2 * ensemble_bytes(program, input, options) +  // they are put into order
         candidate_bytes(program, options, keeps_next_states(program, options)) +
         kChunkRows * (static_cast<double>(bytes_per_row(program, step)) +
                       state * program.num_tags());  // s_t of a chunk's candidates
}

double recorded_bytes(const Program& program, const SampleInput& input,
                      const SampleOptions& options) {
  double all = 0;
  for (const double rows : bound_rows(program, input, options)) all += rows;
  const double state = static_cast<double>(row_bytes(program, program.state));
  return sampling_bytes(program, input, options) +
         all * (2 * state + sizeof(int32_t) + 4 * sizeof(double));  // seeds, positions, log sums
}

void run_in_memory(Workers& workers, int64_t count, int64_t memory,
                   const std::function<bool(int worker, int64_t i, int64_t bytes)>& run) {
  const int64_t all = memory > 0 ? memory : default_memory();
  const int64_t num_sharing = std::max<int64_t>(1, std::min<int64_t>(workers.size(), count));
  std::vector<char> is_done(static_cast<size_t>(count));  // bool's bits are not for many threads
  workers.for_each(count, [&](int worker, int64_t i) {
    is_done[static_cast<size_t>(i)] = run(worker, i, all / num_sharing) ? 1 : 0;
  });
  if (num_sharing == 1) return;
  for (int64_t i = 0; i < count; ++i) {
    if (is_done[static_cast<size_t>(i)] == 0) run(0, i, all);
  }
}

}  // namespace scry
