#include "runtime/kernels/state_rows.h"

#include "tests/catch.h"
#include "tests/support/hand_hmm.h"

using namespace scry;
using namespace scry::test;

TEST_CASE("rows that never were have no address") {
  const Program program = hand_hmm();
  StateRows rows(program, program.later), others(program, program.later);
  CHECK(rows.at(0, 0) == nullptr);
  CHECK(rows.at(0, 5) == nullptr);
  rows.copy_rows(others);
  rows.clear();
  CHECK(rows.num_rows() == 0);
  rows.resize(3);
  CHECK(static_cast<std::byte*>(rows.at(0, 2)) - static_cast<std::byte*>(rows.at(0, 0)) ==
        2 * kHmmTags * static_cast<int>(sizeof(double)));
}

TEST_CASE("a row's bytes are those of its components") {
  const Program program = hand_hmm();
  CHECK(row_bytes(program, program.state) == sizeof(int32_t));
  CHECK(row_bytes(program, program.later) == kHmmTags * sizeof(double));
}
