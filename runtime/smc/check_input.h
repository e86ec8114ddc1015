// Are options and an input fit to be sampled with?
#pragma once
#include "runtime/smc/sample.h"

namespace scry {

/// Throws Error if the options make no sense, whatever the method.
void check_options(const SampleOptions& options);

/// With what Trigger::kAuto stands for, and a bound for memory where none was set.
SampleOptions with_defaults(SampleOptions options);

/// Throws SamplingError, kBadInput or kForbidden, that names the step. `sequence` is the input's
/// number. The input is an ended one (end_of_sequence.h).
void check_input(const Program& program, const SampleInput& input, int64_t sequence);

}  // namespace scry
