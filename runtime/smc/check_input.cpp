#include "runtime/smc/check_input.h"

#include <fmt/format.h>

#include <cmath>

#include "runtime/smc/end_of_sequence.h"
#include "runtime/smc/memory.h"

namespace scry {

void check_options(const SampleOptions& options) {
  if (options.particles < 1)
    throw Error(fmt::format("particles: {}, but at least 1 is needed", options.particles));
  if (options.max_rows < 1)
    throw Error(fmt::format("max_rows: {}, but at least 1 is needed", options.max_rows));
  if (!(options.temperature > 0) || !(options.temperature < INFINITY))
    throw Error(fmt::format("temperature: {}, but it must be above 0", options.temperature));
  if (!(options.alpha >= 0) || options.alpha > 1)
    throw Error(fmt::format("alpha: {}, but it must be between 0 and 1", options.alpha));
  if (!(options.tolerance >= 0) || options.tolerance > 1)
    throw Error(fmt::format("tolerance: {}, but it must be between 0 and 1", options.tolerance));
  if (options.draws == Draws::kArithmetic &&
      (options.trigger == Trigger::kEss || options.trigger == Trigger::kAlways)) {
    throw Error("arithmetic draws cannot be resampled; set the trigger to kNever");
  }
  if (options.threads < 0 || options.batch < 0) throw Error("threads and batch cannot be below 0");
  if (options.memory < 0)
    throw Error(fmt::format("memory: {} bytes, but it cannot be below 0", options.memory));
}

namespace {
void check_given(const Program& program, const SampleInput& input, int64_t sequence) {
  const Alphabet& tags = program.task.y;
  if (input.given.size() != input.x.size()) {
    throw SamplingError(
        Trouble::kBadInput, sequence, 0,
        fmt::format("{} symbols, but {} given tags", without_end(input.x, program.task.x).size(),
                    without_end(input.given, tags).size()));
  }
  const auto length = static_cast<int>(input.x.size());
  for (int step = 1; step <= length; ++step) {
    const int tag = input.given[static_cast<size_t>(step - 1)];
    if (tag < 0 || tag >= tags.size()) {
      throw SamplingError(
          Trouble::kBadInput, sequence, step,
          fmt::format("the given tag {} is outside the alphabet of {}", tag, tags.size()));
    }
    if (const auto fault = explain_early_end(tag, tags); fault && step < length)
      throw SamplingError(Trouble::kBadInput, sequence, step, *fault);
    if (!input.allowed.allows(step, tag))
      throw SamplingError(Trouble::kForbidden, sequence, step, "the given tag is forbidden");
  }
}
}  // namespace

SampleOptions with_defaults(SampleOptions options) {
  if (options.trigger == Trigger::kAuto) {
    const bool never = options.draws == Draws::kArithmetic;
    options.trigger = never ? Trigger::kNever : row_of(options.method).trigger;
  }
  if (options.memory == 0) options.memory = default_memory();
  return options;
}

void check_input(const Program& program, const SampleInput& input, int64_t sequence) {
  if (input.x.size() > static_cast<size_t>(kMaxLength)) {
    throw SamplingError(
        Trouble::kBadInput, sequence, 0,
        fmt::format("{} symbols, but a sequence has at most {}", input.x.size(), kMaxLength));
  }
  const Task& task = program.task;
  const auto length = static_cast<int>(input.x.size());
  const TagSets& allowed = input.allowed;
  if (!allowed.empty() &&
      (allowed.length() != length || allowed.num_tags() != program.num_tags())) {
    throw SamplingError(Trouble::kBadInput, sequence, 0,
                        fmt::format("{} symbols and {} tags, but constraints for {} and {}",
                                    without_end(input.x, task.x).size(), program.num_tags(),
                                    allowed.length(), allowed.num_tags()));
  }
  if (!input.given.empty()) check_given(program, input, sequence);
  for (int step = 1; step <= length; ++step) {
    const int symbol = input.x[static_cast<size_t>(step - 1)];
    if (symbol < 0 || symbol >= program.task.x.size()) {
      throw SamplingError(Trouble::kBadInput, sequence, step,
                          fmt::format("the symbol {} is outside the alphabet of {}", symbol,
                                      program.task.x.size()));
    }
    if (const auto fault = explain_early_end(symbol, task.x); fault && step < length)
      throw SamplingError(Trouble::kBadInput, sequence, step, *fault);
    bool any = allowed.empty();
    for (int tag = 0; !any && tag < program.num_tags(); ++tag) {
      const bool fits = !task.has_eos() || (tag == task.y.eos()) == (step == length);
      any = fits && allowed.allows(step, tag);
    }
    if (!any) throw SamplingError(Trouble::kForbidden, sequence, step, "every tag is forbidden");
  }
}

}  // namespace scry
