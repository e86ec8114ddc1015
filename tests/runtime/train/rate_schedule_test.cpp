#include "runtime/train/rate_schedule.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/catch.h"

using namespace scry;

TEST_CASE("the rate stays, or falls to 0 in the second half, or by a cosine") {
  constexpr int64_t kCount = 8;
  const auto factors = [](RateSchedule schedule) {
    std::vector<double> all;
    for (int64_t number = 1; number <= kCount; ++number)
      all.push_back(rate_factor(schedule, number, kCount));
    return all;
  };
  CHECK(factors(RateSchedule::kConstant) == std::vector<double>(kCount, 1.0));
  CHECK(factors(RateSchedule::kLinear) == std::vector<double>{1, 1, 1, 1, 1, 0.75, 0.5, 0.25});
  const std::vector<double> cosine = factors(RateSchedule::kCosine);
  CHECK(cosine[0] == 1);
  CHECK(cosine[2] == Approx(0.5 + 0.5 / std::sqrt(2.0)));
  CHECK(cosine[4] == Approx(0.5));
  CHECK(cosine[7] == Approx((1 + std::cos(7 * 3.14159265358979 / 8)) / 2));
  for (const RateSchedule schedule :
       {RateSchedule::kConstant, RateSchedule::kLinear, RateSchedule::kCosine}) {
    CHECK(rate_factor(schedule, 1, 1) == 1);
    for (const int64_t count : {2, 7, 100000}) {
      CHECK(rate_factor(schedule, count, count) > 0);
      for (int64_t number = 2; number <= std::min<int64_t>(count, 50); ++number) {
        CHECK(rate_factor(schedule, number, count) <= rate_factor(schedule, number - 1, count));
      }
    }
  }
}
