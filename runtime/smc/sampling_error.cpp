#include "runtime/smc/sampling_error.h"

#include <fmt/format.h>

namespace scry {

SamplingError::SamplingError(Trouble trouble, int64_t sequence, int step,
                             const std::string& message)
    : Error(fmt::format("sequence {}{}: {}", sequence + 1,
                        step > 0 ? fmt::format(", step {}", step) : std::string(), message)),
      trouble_(trouble),
      sequence_(sequence),
      step_(step),
      message_(message) {}

}  // namespace scry
