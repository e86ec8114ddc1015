// Files of ensembles, gold tags, and where tags go.
#include "runtime/files/examples_file.h"
#include "tests/catch.h"
#include "tests/support/hand_ensemble.h"
#include "tests/support/temp_folder.h"

using namespace scry;

namespace {

const Task kTask{Alphabet::of("a b c"), Alphabet::of("X Y")};

/// As `scry sample` writes it, of two symbols.
std::string record(const std::string& x) {
  Ensemble ensemble = test::four();
  ensemble.info.method = "filter";
  ensemble.sort();
  return "{\"line\":1,\"x\":" + x + ",\"error\":null," + to_json(ensemble, kTask).substr(1) + "\n";
}

std::vector<InputLine> inputs_of(const std::string& text, GivenTags tags,
                                 const FileFormat& format) {
  const test::TempFolder folder;
  std::vector<InputLine> lines;
  InputReader(folder.write("f", text), kTask, tags, format).fill(lines, SIZE_MAX);
  return lines;
}

FileFormat ensembles() {
  FileFormat format;
  format.may_be_ensembles = true;
  return format;
}

std::string tagged(const InputLine& line, const std::string& tag) {
  std::string text;
  for (const TagPlace& place : line.places) text += place.before + tag + place.after + "|";
  return text;
}

}  // namespace

TEST_CASE("a file of ensembles is noticed by its first line, and read line by line") {
  const std::string text = "\n" + record("[\"a\",\"b\"]") + "\r\n" + record("[\"c\",\"c\"]");
  const std::vector<InputLine> lines = inputs_of(text, GivenTags::kGold, ensembles());
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].line == 2);
  CHECK(lines[1].line == 4);
  CHECK(lines[1].x == std::vector<int>{2, 2});
  CHECK(lines[1].symbols == "c c");
  for (const InputLine& line : lines) {
    CHECK(line.error.empty());
    CHECK(line.is_of_ensembles);
    REQUIRE(line.ensemble);
    CHECK(line.ensemble->log_weights == test::four().log_weights);
    CHECK(line.ensemble->counts == std::vector<int32_t>{4, 1, 2, 1});
  }
  // Where they are not looked for, they are symbols.
  CHECK(!inputs_of("{\"a\n", GivenTags::kPassedOver, {})[0].is_of_ensembles);
}

TEST_CASE("every tagging of an ensemble is an example") {
  const test::TempFolder folder;
  const std::vector<Example> examples =
      read_examples(folder.write("f", record("[\"a\",\"b\"]")), kTask, ensembles());
  REQUIRE(examples.size() == 4);
  CHECK(examples[0].y == std::vector<int>{0, 1});
  CHECK(examples[0].tags == "X Y");
  CHECK(examples[3].symbols == "a b");
}

TEST_CASE("a line that is no ensemble fails by itself, with its line") {
  FileFormat format;
  format.layout = FileLayout::kEnsembles;
  const std::vector<std::pair<std::string, std::string>> cases{
      {"a b\n", "no ensemble: it is not a JSON object"},
      {record("[\"a\"]"), "no ensemble: 1 symbol but taggings of 2"},
      {record("[\"a\",\"z\"]"), "step 2: 'z' is not in the input alphabet"},
      {record("[\"a\",1]"), "no ensemble: 'x' is not a list of names"},
      {record("1"), "no ensemble: there is no list 'x' of its symbols"},
      {"{\"x\":[\"a\"],\"error\":\"no\\nluck\"}\n", "no ensemble: 'no\\x0aluck'"},
  };
  for (const auto& [text, message] : cases) {
    const std::vector<InputLine> lines =
        inputs_of(record("[\"a\",\"b\"]") + text, GivenTags::kPassedOver, format);
    REQUIRE(lines.size() == 2);
    CAPTURE(text);
    CHECK(lines[0].error.empty());
    CHECK(lines[1].error == message);
    CHECK(lines[1].line == 2);
    CHECK(!lines[1].ensemble);
  }
}

TEST_CASE("gold tags are read where they are asked for and there") {
  const std::string text = "a b\tX Y\nc\na\tX Y\nb\tZ\n";
  const std::vector<InputLine> lines = inputs_of(text, GivenTags::kGold, {});
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].gold == std::vector<int>{0, 1});
  CHECK(!lines[1].gold);
  CHECK(lines[1].error.empty());
  CHECK(lines[2].error == "1 symbol but 2 tags");
  CHECK(lines[3].error == "step 1: 'Z' is not in the output alphabet");
  for (const InputLine& line : inputs_of(text, GivenTags::kPassedOver, {})) {
    CHECK(!line.gold);
    CHECK(line.error.empty());
  }
}

TEST_CASE("the places of tags in columns are where they stood, or one column more") {
  FileFormat format;
  format.layout = FileLayout::kConll;
  format.y_column = 2;
  const InputLine middle = inputs_of("a\tX\tn\r\nb\t Y \tm\n", GivenTags::kGold, format)[0];
  CHECK(tagged(middle, "T") == "a\tT\tn|b\t T \tm|");
  format.y_column = 0;
  CHECK(tagged(inputs_of("a q  X\n", GivenTags::kGold, format)[0], "T") == "a q  T|");
  CHECK(tagged(inputs_of("a\nb\n", GivenTags::kGold, format)[0], "T") == "a T|b T|");
  CHECK(inputs_of("a b\tX Y\n", GivenTags::kGold, {})[0].places.empty());
}
