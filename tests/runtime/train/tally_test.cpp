#include "runtime/train/tally.h"

#include <cmath>

#include "tests/catch.h"

using namespace scry;

TEST_CASE("tallies add up name by name") {
  Tally tally;
  CHECK(tally[Tally::kLoss] == 0);
  tally.add(Tally::kLoss, 4.5);
  tally.add("mine", -0.0);
  CHECK(std::signbit(tally["mine"]));
  Tally other;
  other.add("others", 7);
  other.add(Tally::kLoss, 400);
  tally += other;
  CHECK(tally[Tally::kLoss] == 404.5);
  CHECK(tally.count("others") == 7);
  CHECK(tally.sums().size() == 3);
}

TEST_CASE("two goals count the same sequences once, and the particles are the second's") {
  Tally model, proposal;
  for (Tally* tally : {&model, &proposal}) {
    tally->add(Tally::kSequences, 8);
    tally->add(Tally::kSymbols, 30);
    tally->add(Tally::kLoss, 1.5);
    tally->add(Tally::kEss, tally == &model ? 3 : 5);
  }
  proposal.add(Tally::kKl, 2);
  const Tally merged = merge_goals(model, proposal);
  CHECK(merged[Tally::kSequences] == 8);
  CHECK(merged[Tally::kSymbols] == 30);
  CHECK(merged[Tally::kLoss] == 3);
  CHECK(merged[Tally::kEss] == 5);
  CHECK(merged[Tally::kKl] == 2);
}

TEST_CASE("the roots of mean squares are over the sequences that have them, and NaN without any") {
  Tally tally;
  tally.add(Tally::kSequences, 8);
  CHECK(std::isnan(tally.residual_rms()));
  CHECK(std::isnan(tally.to_go_rmse()));
  tally.add(Tally::kCalibrated, 4);
  tally.add(Tally::kResidual, 16);
  tally.add(Tally::kToGoError, 36);
  CHECK(tally.residual_rms() == 2);
  CHECK(tally.to_go_rmse() == 3);
}
