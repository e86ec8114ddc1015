#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using nlohmann::json;
using test::lines_of;
using test::Sandbox;
using test::write_text;

const std::string kColumns = "1\tx\tC\n2\tx\tH\n\n3\tx\tH\n1\tx\tC\n";
const std::string kLines = "1 2\tC H\n3 1\tH C\n";

TEST_CASE("a file of columns is noticed, and scores as the same sequences in lines") {
  const Sandbox box;
  write_text(box.path("columns"), kColumns);
  write_text(box.path("lines"), kLines);
  const auto lines = box.program("lesson_01_hmm score --input lines");
  INFO(lines.err);
  REQUIRE(lines.exit_code == 0);
  for (const char* options :
       {"", " --input-format conll", " --format conll", " --columns 1,3", " --columns 1"}) {
    const auto columns = box.program(std::string("lesson_01_hmm score --input columns") + options);
    CHECK(columns.exit_code == 0);
    CHECK(columns.out == lines.out);
  }
}

TEST_CASE("sequences to be sampled may stand in columns, with tags or without") {
  const Sandbox box;
  write_text(box.path("tagged"), kColumns);
  write_text(box.path("untagged"), "1\n2\n\n3\n1\n");
  for (const char* name : {"tagged", "untagged"}) {
    const auto result = box.program("lesson_01_hmm sample --method exact --format jsonl --input " +
                                    std::string(name));
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    const std::vector<std::string> lines = lines_of(result.out);
    REQUIRE(lines.size() == 2);
    CHECK(json::parse(lines[0])["x"] == json({"1", "2"}));
    CHECK(json::parse(lines[1])["x"] == json({"3", "1"}));
    CHECK(json::parse(lines[1])["line"] == 4);
  }
}

TEST_CASE("every command refuses a file that can be read in two ways") {
  const Sandbox box;
  write_text(box.path("in"), "1\tC\n2\tH\n");
  for (const char* words : {"score --input in", "sample --input in", "fit --train in -o out",
                            "fit --train in -o out --dev in"}) {
    const auto result = box.program("lesson_01_hmm " + std::string(words));
    CHECK(result.exit_code == 1);
    REQUIRE(lines_of(result.err).size() == 1);
    CHECK(result.err.find("in: every line is one symbol, a tab and one tag") != std::string::npos);
    CHECK(result.err.find("--input-format conll") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(box.path("out")));
  }
  CHECK(lines_of(box.program("lesson_01_hmm score --input in --input-format lines").out).size() ==
        3);
  CHECK(lines_of(box.program("lesson_01_hmm score --input in --input-format conll").out).size() ==
        2);
}

TEST_CASE("columns are trained on, and the next command is told how to read them") {
  const Sandbox box;
  write_text(box.path("in"), "1\tC\n2\tH\n");
  const auto result = box.program("lesson_01_hmm fit --train in --format conll --epochs 1 -o out");
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.err.find("--input in --input-format conll\n") != std::string::npos);
}

TEST_CASE("columns that make no sense are a mistake of usage") {
  const Sandbox box;
  write_text(box.path("in"), kColumns);
  for (const char* columns : {"0,1", "1,1", "a", "1,", "1,2,3", "-1,2", "1,99999999999"}) {
    const auto result =
        box.program(std::string("lesson_01_hmm score --input in --columns ") + columns);
    INFO(columns);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("--columns: ") != std::string::npos);
  }
  CHECK(box.program("lesson_01_hmm score --input in --columns 1 --input-format lines").exit_code ==
        2);
  const auto missing = box.program("lesson_01_hmm score --input in --columns 1,4");
  CHECK(missing.exit_code == 1);
  CHECK(missing.err.find("in:1: there is no column 4, only 3 columns") != std::string::npos);
}

TEST_CASE("more than one tab in a line is an error for every command") {
  const Sandbox box;
  write_text(box.path("in"), "1\tC\tH\n");
  for (const char* command : {"sample", "score"}) {
    const auto result = box.program("lesson_01_hmm " + std::string(command) + " --input in");
    CHECK(result.exit_code == 1);
    CHECK(result.err.find("in:1: there is more than one tab") != std::string::npos);
  }
}

TEST_CASE("the source separator reads words without their end, and prints them without it") {
  const Sandbox box;
  write_text(box.path("in"), "f o b\nf o b <eos>\n<eos>\nf <eos> b\n");
  const auto result = box.program(
      "lesson_05_source_separation sample --method exact --format jsonl --precision double "
      "--input in");
  CHECK(result.exit_code == 1);
  CHECK(lines_of(result.err).back() ==
        "in:4: step 2: '<eos>' ends a sequence and cannot stand before its end");
  const std::vector<std::string> lines = lines_of(result.out);
  REQUIRE(lines.size() == 4);
  const json first = json::parse(lines[0]), same = json::parse(lines[1]),
             empty = json::parse(lines[2]);
  CHECK(first["num_sequences"] == 8);
  CHECK(first["length"] == 3);
  CHECK(first["sequences"][0]["tags"].size() == 3);
  CHECK(same["log_z"] == first["log_z"]);
  CHECK(same["sequences"] == first["sequences"]);
  CHECK(empty["length"] == 0);
  CHECK(empty["num_sequences"] == 1);
  write_text(box.path("tagged"), "f o b\t1 2 1\n<eos>\t<eos>\n");
  const auto scored =
      box.program("lesson_05_source_separation score --precision double --input tagged");
  INFO(scored.err);
  CHECK(scored.exit_code == 0);
  CHECK(lines_of(scored.out).size() == 3);
  CHECK(box.program("lesson_05_source_separation check --lengths 1-2").exit_code == 0);
}

}  // namespace
}  // namespace scry
