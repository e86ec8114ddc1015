#include "tools/cli/progress_bar.h"

#include "tests/catch.h"

using namespace scry::cli;

TEST_CASE("progress shows what is done, of how much, and how long it will take") {
  const auto format = [](size_t done, size_t total, double seconds) {
    return format_progress({.done = done, .total = total}, "words", seconds);
  };
  CHECK(format(0, 40, 0) == "[                              ]  0 of 40 words");
  CHECK(format(10, 40, 5) == "[=======                       ] 10 of 40 words, 15 s left");
  CHECK(format(1, 100, 60) == "[                              ]   1 of 100 words, 1 h 39 min left");
  CHECK(format(40, 40, 5) == "[==============================] 40 of 40 words");
}

TEST_CASE("progress of which the total is not known shows the part that is done, or no bar") {
  CHECK(format_progress({.done = 10, .part = 0.25}, "words", 5) ==
        "[=======                       ] 10 words, 15 s left");
  CHECK(format_progress({.done = 10}, "words", 5) == "10 words");
}

TEST_CASE("progress of an epoch has its heading and details, and the time of the whole run") {
  const Progress progress{.done = 250,
                          .total = 500,
                          .heading = "epoch 2/20",
                          .details = {"loss 4.21", "KL 0.83 bits", "ESS 61 %"},
                          .part = 0.5};
  const std::string count = "] 250 of 500 updates, ";
  CHECK(format_progress(progress, "updates", 120) ==
        "epoch 2/20 [===============               " + count +
            "loss 4.21, KL 0.83 bits, ESS 61 %, 2 min left");
  SECTION("where there is little room the bar is shorter, then the first details go") {
    CHECK(format_progress(progress, "updates", 120, 89) ==
          "epoch 2/20 [=====     " + count + "loss 4.21, KL 0.83 bits, ESS 61 %, 2 min left");
    CHECK(format_progress(progress, "updates", 120, 78) ==
          "epoch 2/20 [=====     " + count + "KL 0.83 bits, ESS 61 %, 2 min left");
    for (size_t width = 45; width < 130; ++width) {
      CHECK(format_progress(progress, "updates", 120, width).size() <= std::max<size_t>(width, 52));
    }
    CHECK(format_progress(progress, "updates", 120, 1) ==
          "epoch 2/20 [====    ] 250 of 500 updates, 2 min left");
  }
}
