#include "runtime/train/rate_schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace scry {

const char* name_of(RateSchedule schedule) {
  constexpr std::array kNames{"constant", "linear", "cosine"};
  return kNames.at(static_cast<size_t>(schedule));
}

double rate_factor(RateSchedule schedule, int64_t number, int64_t count) {
  const double done = static_cast<double>(number - 1) / static_cast<double>(count);
  switch (schedule) {
    case RateSchedule::kLinear:
      return std::min(1.0, 2 * (1 - done));
    case RateSchedule::kCosine:
      return (1 + std::cos(std::numbers::pi * done)) / 2;
    case RateSchedule::kConstant:
      break;
  }
  return 1;
}

}  // namespace scry
