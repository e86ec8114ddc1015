#include "runtime/kernels/forest.h"

#include "tests/catch.h"

using namespace scry;

TEST_CASE("rows beyond 2^31 have no room, and no wrong numbers") {
  const Forest forest(3);
  CHECK(forest.has_room(0));
  CHECK(forest.has_room((int64_t{1} << 31) - 4));
  CHECK(!forest.has_room((int64_t{1} << 31) - 3));
  CHECK(!forest.has_room(int64_t{1} << 40));
}
