// Is what a kernel gave a score?
#pragma once
#include <cmath>
#include <string_view>

#include "compiler/program.h"

namespace scry {

/// Scores are numbers below +∞; -∞ is one.
inline bool is_score(double value) { return value < INFINITY; }

/// Throws SamplingError, kNotANumber, for a value that is no score, such as "the model's score of
/// tag 'B' is NaN". `what` is "the model's score", `sequence` the input's number.
[[noreturn]] void throw_not_a_number(const Program& program, int64_t sequence, int step,
                                     std::string_view what, int tag, double value);

}  // namespace scry
