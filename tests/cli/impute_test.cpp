// Incomplete tags: fitted with, and completed.
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using test::lines_of;
using test::read_file;
using test::Sandbox;
using test::write_text;

const std::string kDiary = "1 2 3\tC * H\r\n1 1\tC C\n3 2 1\n\n2  2\tC|H *\n3\tH\n";
const std::string kWords =
    "M AA D AH L\t- 1 - 0 -\nM AA D AH L\t- * - 0|1 -\nD AA M\nM AH D AH L AA M\t* * * * * * *\n";

TEST_CASE("versions differ in the open tags only, and fit reads them") {
  const Sandbox box;
  write_text(box.path("in.tsv"), kDiary);
  const std::string impute = "lesson_01_hmm impute --input in.tsv --seed 2 -m 12 -o out/v.tsv ";
  std::filesystem::create_directory(box.path("out"));
  const auto result = box.program(impute + "--threads 1");
  CHECK(result.exit_code == 0);
  CHECK(result.out.empty());
  CHECK(result.err ==
        "scry: there is no --params: the weights are random, of seed 2\n"
        "impute: 3 of 5 sequences had incomplete tags: exact draws for 3\n"
        "impute: wrote out/v.1.tsv to out/v.12.tsv\n");
  bool any_difference = false;
  std::vector<std::string> versions;
  for (int v = 1; v <= 12; ++v) {
    versions.push_back(read_file(box.path("out/v." + std::to_string(v) + ".tsv")));
    const std::vector<std::string> lines = lines_of(versions.back());
    REQUIRE(lines.size() == 6);
    CHECK((lines[0] == "1 2 3\tC C H\r" || lines[0] == "1 2 3\tC H H\r"));
    CHECK(lines[1] == "1 1\tC C");
    CHECK(lines[2].starts_with("3 2 1\t"));
    CHECK(lines[2].size() == 11);
    CHECK(lines[3].empty());
    CHECK(lines[4].starts_with("2  2\t"));
    CHECK(lines[5] == "3\tH");
    any_difference = any_difference || versions.back() != versions.front();
  }
  CHECK(any_difference);
  const auto again = box.program(impute);
  CHECK(again.exit_code == 2);
  CHECK(again.err == "scry: 'out/v.1.tsv' exists; give another -o, or replace it by --overwrite\n");
  CHECK(box.program(impute + "--overwrite --threads 3").exit_code == 0);
  for (int v = 1; v <= 12; ++v)
    CHECK(read_file(box.path("out/v." + std::to_string(v) + ".tsv")) ==
          versions[static_cast<size_t>(v) - 1]);
  CHECK(box.program("lesson_01_hmm score --input out/v.3.tsv").exit_code == 0);
}

TEST_CASE("columns keep all that is not an open tag") {
  const Sandbox box;
  write_text(box.path("in.conll"), "\xef\xbb\xbf# diary\n1\t*\tcold\n2\tC\tx\n\n3\tC|H\ty\n");
  CHECK(box.program("lesson_01_hmm impute --input in.conll --input-format conll --columns 1,2 -m 1 "
                    "-o out")
            .exit_code == 0);
  const std::vector<std::string> lines = lines_of(read_file(box.path("out.1")));
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == "\xef\xbb\xbf# diary");
  CHECK((lines[1] == "1\tC\tcold" || lines[1] == "1\tH\tcold"));
  CHECK(lines[2] == "2\tC\tx");
  CHECK((lines[4] == "3\tC\ty" || lines[4] == "3\tH\ty"));
}

TEST_CASE("what cannot be completed is one line, and nothing is written") {
  const Sandbox box;
  write_text(box.path("in.tsv"), "1 2\tC *\n1 1\tC X|H\n");
  write_text(box.path("v.1.tsv"), "1 2\tC *\n");
  const auto error_of = [&](const std::string& words) {
    const auto result = box.program("lesson_01_hmm impute " + words);
    return std::to_string(result.exit_code) + " " + result.err;
  };
  CHECK(error_of("--input in.tsv -o w.tsv") ==
        "1 in.tsv:2: step 2: 'X' is not in the output alphabet\n");
  CHECK(error_of("--input v.1.tsv -o v.tsv --overwrite") ==
        "2 scry: 'v.1.tsv' is read and would be lost; give another -o\n");
  CHECK(error_of("--input in.tsv -o w.tsv -m 0").starts_with("2 "));
  CHECK(error_of("--input none.tsv -o w.tsv").starts_with("2 "));
  CHECK_FALSE(std::filesystem::exists(box.path("w.1.tsv")));
}

TEST_CASE("where states are not finite, draws from discrete sets are said to be such") {
  const Sandbox box;
  write_text(box.path("in.tsv"), "M AA D AH L\t- 1 - 0 -\n" + std::string("M AH D AH L AA M M\n"));
  const auto result = box.program("lesson_03_stress_tagger impute --input in.tsv -m 2 -M 64 -o v");
  REQUIRE(result.exit_code == 0);
  CHECK(result.err.find("impute: 1 of 2 sequences had incomplete tags: draws from discrete sets of "
                        "64 for 1\n") != std::string::npos);
  CHECK(lines_of(read_file(box.path("v.2")))[0] == "M AA D AH L\t- 1 - 0 -");
}

TEST_CASE("fits with incomplete tags say how many, are the same for any threads, and go on") {
  const Sandbox box;
  write_text(box.path("in.tsv"), kWords);
  const std::string fit =
      "lesson_03_stress_tagger fit --train in.tsv --dev in.tsv -M 8 --save-updates 1 ";
  const auto result = box.program(fit + "-o a --epochs 2 --threads 1");
  REQUIRE(result.exit_code == 0);
  CHECK(result.err.find("fit: 3 of 4 examples and 3 of 4 development examples have incomplete "
                        "tags, and count by the likelihood of what is known: estimated by "
                        "discrete sets of 8, on average too low\n") != std::string::npos);
  CHECK(result.err.find("development estimated perplexity") != std::string::npos);
  const auto last = nlohmann::json::parse(lines_of(result.out).back());
  CHECK(last["estimated"] == 3);
  CHECK(last["dev_estimated"] == 3);
  CHECK(last["dev_perplexity"] > 1);
  CHECK(box.program(fit + "-o b --epochs 1 --threads 2").exit_code == 0);
  CHECK(box.program(fit + "-o b --epochs 2 --threads 2 --resume").exit_code == 0);
  const std::string score = "lesson_03_stress_tagger score --precision double --input s.tsv ";
  write_text(box.path("s.tsv"), "M AA D AH L\t- 1 - 0 -\n");
  CHECK(box.program(score + "--params a").out == box.program(score + "--params b").out);
}

}  // namespace
}  // namespace scry
