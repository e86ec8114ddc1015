#include "runtime/eval/measures.h"

#include <set>
#include <string>

#include "tests/catch.h"

using namespace scry;
using Runs = std::vector<double>;

TEST_CASE("measures have keys and headings of their own") {
  std::set<std::string> keys, headings;
  for (const MeasureRow& row : measure_table()) {
    keys.insert(row.key);
    headings.insert(row.heading);
    CHECK(!std::string(row.summary).empty());
  }
  CHECK(keys.size() == kNumMeasures);
  CHECK(headings.size() == kNumMeasures);
}

TEST_CASE("a mean over inputs is that of their means over runs, and inputs are its units") {
  MeanOverInputs mean;
  CHECK(std::isnan(mean.estimate().value));
  mean.add(Runs{1.0, 3.0});       // 2
  mean.add(Runs{4.0, NAN, 4.0});  // 4, of two runs
  mean.add(Runs{NAN, NAN});       // nothing to tell
  mean.add(Runs{9.0});            // 9
  CHECK(mean.num_inputs() == 3);
  CHECK(mean.estimate().value == Approx(5));
  // Variance (9 + 1 + 16) / 2 of three, and Student's quantile of two degrees, 4.3027, over 1.96.
  CHECK(mean.estimate().error == Approx(std::sqrt(13.0 / 3) * 4.3027 / 1.959964));
  CHECK(std::isnan(mean.estimate_over_runs().error));  // one input has a single run
}

TEST_CASE("the error of a single input is that of its runs") {
  MeanOverInputs mean;
  mean.add(Runs{1.0, 3.0, 2.0});
  CHECK(mean.estimate().value == Approx(2));
  CHECK(mean.estimate().error == Approx(std::sqrt(1.0 / 3) * 4.3027 / 1.959964));
  MeanOverInputs single;
  single.add(Runs{7.0});
  CHECK(single.estimate().value == 7);
  CHECK(std::isnan(single.estimate().error));
}

TEST_CASE("an error over runs does not see how inputs differ") {
  MeanOverInputs mean;
  mean.add(Runs{1.0, 3.0});      // the mean's variance is 1
  mean.add(Runs{100.0, 104.0});  // and 4
  CHECK(mean.estimate_over_runs().value == Approx(52));
  CHECK(mean.estimate_over_runs().error == Approx(std::sqrt(5.0) / 2 * 4.3027 / 1.959964));
  CHECK(mean.estimate().error > 100);
}

TEST_CASE("a root has the error of its derivative, and 0 has none") {
  MeanOverInputs mean;
  mean.add(Runs{3.0});
  mean.add(Runs{5.0});
  CHECK(mean.root().value == Approx(2));
  CHECK(mean.root().error == Approx(mean.estimate().error / 4));
  MeanOverInputs zero;
  zero.add(Runs{0.0});
  zero.add(Runs{0.0});
  CHECK(zero.root().value == 0);
  CHECK(zero.root().error == 0);
  CHECK(std::isnan(MeanOverInputs().root().value));
}

TEST_CASE("an infinite input makes the mean infinite, and not NaN") {
  MeanOverInputs mean;
  mean.add(Runs{1.0, INFINITY});
  mean.add(Runs{2.0, 2.0});
  CHECK(mean.estimate().value == INFINITY);
  CHECK(std::isnan(mean.estimate().error));
  CHECK(mean.root().value == INFINITY);
}

TEST_CASE("squared deviations average to the variance without bias") {
  const std::vector<double> squares = squared_deviations(Runs{1.0, 2.0, 6.0});
  CHECK((squares[0] + squares[1] + squares[2]) / 3 == Approx(7));  // (4 + 1 + 9) / 2
  for (const Runs& runs : {Runs{1.0}, Runs{1.0, -INFINITY}, Runs{NAN, 1.0}}) {
    for (double square : squared_deviations(runs)) CHECK(std::isnan(square));
  }
}
