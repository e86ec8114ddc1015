// How the learning rate falls in the course of a run.
#pragma once
#include <cstdint>

namespace scry {

enum class RateSchedule : uint8_t {
  kConstant,
  kLinear,  ///< constant over the first half of the updates, then linearly to 0
  kCosine,  ///< (1 + cos πp) / 2, where p is the part of the updates that is done
};

/// "constant", "linear", "cosine".
const char* name_of(RateSchedule schedule);

/// By what the rate is multiplied in update `number` of `count`, from 1; above 0 in all of them,
/// and 1 in the first.
double rate_factor(RateSchedule schedule, int64_t number, int64_t count);

}  // namespace scry
