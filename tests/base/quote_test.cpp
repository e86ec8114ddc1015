#include "base/quote.h"

#include "tests/catch.h"

using namespace scry;

TEST_CASE("quoted text is cut between characters and holds nothing that upsets a terminal") {
  CHECK(quote("") == "''");
  CHECK(quote("abc", 3) == "'abc'");
  CHECK(quote("abcd", 3) == "'abc…'");
  CHECK(quote("aéb", 2) == "'a…'");
  CHECK(quote("aéb", 3) == "'aé…'");
  CHECK(quote("\x1b[2J\x7f") == "'\\x1b[2J\\x7f'");
  CHECK(quote(std::string(50, '\x80'), 40) == "'" + std::string(37, '\x80') + "…'");
}
