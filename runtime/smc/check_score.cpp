#include "runtime/smc/check_score.h"

#include <fmt/format.h>

#include "runtime/smc/sampling_error.h"

namespace scry {

void throw_not_a_number(const Program& program, int64_t sequence, int step, std::string_view what,
                        int tag, double value) {
  throw SamplingError(Trouble::kNotANumber, sequence, step,
                      fmt::format("{} of tag '{}' is {}", what, program.task.y.name(tag),
                                  std::isnan(value) ? "NaN" : "+inf"));
}

}  // namespace scry
