#include "runtime/kernels/buffer.h"

#include "tests/catch.h"

using namespace scry;

TEST_CASE("numbers of one buffer are added to those of another, and to no others") {
  for (Precision precision : {Precision::kFloat, Precision::kDouble}) {
    for (int64_t count : {0, 1, 7, 32, 100}) {
      RealBuffer to(precision, 120), from(precision, 150);
      for (int64_t k = 0; k < to.size(); ++k) to.set(k, 0.1 * static_cast<double>(k));
      for (int64_t k = 0; k < from.size(); ++k) from.set(k, 0.7 * static_cast<double>(k));
      const RealBuffer before = to;
      to.add(3, from, 5, count);
      for (int64_t k = 0; k < to.size(); ++k) {
        RealBuffer sum(precision, 1);  // rounded once
        sum.set(0, before.get(k) + (k >= 3 && k < 3 + count ? from.get(k + 2) : 0));
        CHECK(to.get(k) == sum.get(0));
      }
    }
  }
}
