#include "dsl/settings.h"

#include "tests/catch.h"
#include "tests/dsl/failure.h"

using namespace scry;

TEST_CASE("a setting is what was given, or else its default") {
  Settings settings;
  settings.set("d", "64").set("vocab", "other.txt");
  CHECK(settings.number("d", 32, "units") == 64);
  CHECK(settings.number("e", -5, "units of embeddings") == -5);
  CHECK(settings.text("vocab", "chars.txt", "symbols") == "other.txt");
  CHECK(settings.text("look", "", "how it looks").empty());
  REQUIRE(settings.known().size() == 4);
  const Setting& d = settings.known()[0];
  CHECK(d.name == "d");
  CHECK(d.value == "64");
  CHECK(d.fallback == "32");
  CHECK(d.help == "units");
  CHECK(d.is_given);
  CHECK_FALSE(settings.known()[1].is_given);
  CHECK(settings.unknown().empty());
}

TEST_CASE("settings that nobody asked for are known by name") {
  Settings settings;
  settings.set("d", "64").set("vocb", "other.txt").set("a", "1");
  settings.number("d", 32, "units");
  CHECK(settings.unknown() == std::vector<std::string>{"a", "vocb"});
}

TEST_CASE("what is no whole number is refused, whatever it begins with") {
  for (const std::string text : {"", "x", "3x", "3.5", "99999999999", " 3", "+3"}) {
    Settings settings;
    settings.set("d", text);
    CHECK_THROWS_WITH(settings.number("d", 32, "units"),
                      "the setting d (units) is '" + text + "', not a whole number");
  }
}

TEST_CASE("a file that has no default must be given") {
  Settings settings;
  settings.set("tags", "tags.txt");
  CHECK(settings.file("vocab", "chars.txt", "symbols") == "chars.txt");
  CHECK(settings.file("tags", "", "tags") == "tags.txt");
  CHECK(settings.known()[0].is_file);
  CHECK_THROWS_WITH(settings.file("words", "", "words, one a line"),
                    "the model needs a file for its setting words (words, one a line): --set "
                    "words=FILE");
}

TEST_CASE("a setting may be asked for twice, but not as two") {
  Settings settings;
  CHECK(settings.number("d", 32, "units") == 32);
  CHECK(settings.number("d", 32, "units") == 32);
  CHECK(settings.known().size() == 1);
  CHECK(FAILURE(settings.number("d", 64, "units")) ==
        "settings: 'd' is asked for twice, as '32' and as '64' by default");
  CHECK(FAILURE(settings.number("d=3", 64, "units")) == "settings: 'd=3' is no name");
}
