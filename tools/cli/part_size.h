// How much of the input is worked on at a time.
#pragma once
#include <algorithm>
#include <span>

#include "runtime/files/examples_file.h"
#include "runtime/smc/memory.h"

namespace scry::cli {

/// How many of these lines to sample before their results are written: those whose results a
/// quarter of the memory holds; at least one, if there is any, and at most `most`.
inline size_t count_part(const Program& program, std::span<const InputLine> lines,
                         const SampleOptions& sampling, int num_runs, size_t most) {
  const double memory =
      static_cast<double>(sampling.memory > 0 ? sampling.memory : default_memory()) / 4;
  double bytes = 0;
  size_t count = 0;
  for (; count < std::min(most, lines.size()); ++count) {
    const SampleInput input{lines[count].x, lines[count].allowed};
    bytes += ensemble_bytes(program, input, sampling) * num_runs;
    if (bytes > memory && count > 0) break;
  }
  return count;
}

}  // namespace scry::cli
