#include "tools/cli/nearest.h"

#include "tests/catch.h"

using scry::cli::nearest;

TEST_CASE("a mistyped word is answered by the one that was meant") {
  const std::vector<std::string> commands{"info",  "graph", "check",  "init",    "fit",
                                          "learn", "score", "sample", "version", "help"};
  const std::vector<std::pair<std::string, std::string>> meant{
      {"smaple", "sample"}, {"sampel", "sample"}, {"samples", "sample"}, {"sampl", "sample"},
      {"samp", "sample"},   {"fti", "fit"},       {"lern", "learn"},     {"graf", "graph"},
      {"SCORE", "score"},   {"--help", "help"},   {"chekc", "check"},    {"ver", "version"}};
  for (const auto& [typed, word] : meant) {
    CAPTURE(typed);
    CHECK(nearest(typed, commands) == word);
  }
  for (const std::string far : {"", "-", "sing", "train", "x", "fi", "s", "examples/01_hmm.cpp"}) {
    CAPTURE(far);
    CHECK(nearest(far, commands) == "");
  }
  CHECK(nearest(std::string(1000000, 's'), commands) == "");
}

TEST_CASE("options are compared without their dashes, and none is chosen among equals") {
  const std::vector<std::string> options{"--method", "-M", "--particles", "--seed", "--max-rows"};
  CHECK(nearest("--mehtod", options) == "--method");
  CHECK(nearest("-method", options) == "--method");
  CHECK(nearest("--part", options) == "--particles");
  CHECK(nearest("--max_rows", options) == "--max-rows");
  CHECK(nearest("-m", options) == "-M");
  CHECK(nearest("-N", options) == "");
  CHECK(nearest("--abc", {"--abd", "--abe"}) == "");
}
