#include "runtime/train/objective.h"
#include "tests/catch.h"

using namespace scry;

TEST_CASE("tallies add up field by field") {
  Tally tally{1, 2, 3, 4.5, 5.5, 6.5, 7.5, 8.5, 9, 10};
  tally += {100, 200, 300, 400, 500, 600, 700, 800, 900, 1000};
  CHECK(tally.num_sequences == 101);
  CHECK(tally.num_symbols == 202);
  CHECK(tally.num_failed == 303);
  CHECK(tally.loss == 404.5);
  CHECK(tally.negative_log_p == 505.5);
  CHECK(tally.kl == 606.5);
  CHECK(tally.divergence == 707.5);
  CHECK(tally.ess == 808.5);
  CHECK(tally.num_rows == 909);
  CHECK(tally.num_particle_steps == 1010);
}
