#include "tools/cli/progress_bar.h"

#include "tests/catch.h"

using namespace scry::cli;

TEST_CASE("progress shows what is done, of how much, and how long it will take") {
  CHECK(format_progress(0, 40, "words", 0) == "[                              ]  0 of 40 words");
  CHECK(format_progress(10, 40, "words", 5) ==
        "[=======                       ] 10 of 40 words, 15 s left");
  CHECK(format_progress(1, 100, "words", 60) ==
        "[                              ]   1 of 100 words, 1 h 39 min left");
  CHECK(format_progress(40, 40, "words", 5) == "[==============================] 40 of 40 words");
}
