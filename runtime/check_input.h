// Is an input fit to be sampled?
#pragma once
#include "runtime/sample.h"

namespace scry {

/// Throws SamplingError, kBadInput or kForbidden, that names the step. `sequence` is the input's
/// number.
void check_input(const Program& program, const SampleInput& input, int64_t sequence);

}  // namespace scry
