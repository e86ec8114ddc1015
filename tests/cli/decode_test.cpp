#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using nlohmann::json;
using test::lines_of;
using test::Sandbox;
using test::write_text;

std::vector<json> objects_of(const std::string& text) {
  std::vector<json> objects;
  for (const std::string& line : lines_of(text)) objects.push_back(json::parse(line));
  return objects;
}

const std::string kHmm = "lesson_01_hmm decode --precision double --input ";
const std::string kRandom = "scry: there is no --params: the weights are random, of seed 1\n";

/// Two positions of three tags, of which the best pair is not made of the best tags; and a loss
/// that minds the first tag alone.
const std::string kTwo = R"(#include <scry.h>
using namespace scry;
struct Two : Model {
  explicit Two(const Task& task) : Model(task, symbol_state("tag", task.y.size() + 1)) {}
  Step step(const State& s, const Input&, const Sym& y) const override {
    const Expr table = constant({4, 3}, {0, 0, 0, 2.0, -9, -9, -9, 1.5, 1.4, 0.7, 0.9, -9});
    return {.score = table[s.sym("tag")][y], .state = {y + 1}};
  }
};
SCRY_MODEL() {
  return {std::make_shared<Two>(Task{Alphabet::of("a"), Alphabet::of("O B-X I-X")}), nullptr,
          [](std::span<const int32_t> decided, std::span<const int32_t> truth) {
            return decided.front() == truth.front() ? 0.0 : 3.0;
          }};
}
)";

TEST_CASE("decisions come with their expected losses, exact where p is known") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1\n\n3 3\n");
  const auto run = [&](const std::string& options) {
    const auto result = box.program(kHmm + "in.txt --format jsonl " + options);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    CHECK(result.err == kRandom);
    std::vector<json> objects = objects_of(result.out);
    REQUIRE(objects.size() == 2);
    CHECK(objects[1]["line"] == 3);
    CHECK(objects[1]["x"] == json({"3", "3"}));
    return objects;
  };
  const auto sampled = box.program(
      "lesson_01_hmm sample --precision double --input in.txt --format jsonl --method exact");
  const std::vector<json> all = objects_of(sampled.out);
  const json whole = run("--method exact --loss whole")[0];
  CHECK(whole["tags"] == all[0]["sequences"][0]["tags"]);
  CHECK(std::abs(whole["expected_loss"].get<double>() -
                 (1 - all[0]["sequences"][0]["probability"].get<double>())) < 1e-9);
  CHECK(whole["expected_loss_status"] == "exact");
  CHECK(whole["minimized_over"] == "all taggings");
  CHECK(whole["loss"] == "whole");
  CHECK(whole["parameters"] == "random");
  CHECK(whole["gold"].is_null());
  const json hamming = run("--method exact")[0];
  double expected = 0;
  for (const json& sequence : all[0]["sequences"]) {
    for (size_t t = 0; t < 4; ++t) {
      if (sequence["tags"][t] != hamming["tags"][t])
        expected += sequence["probability"].get<double>();
    }
  }
  CHECK(std::abs(hamming["expected_loss"].get<double>() - expected) < 1e-9);
  // 16 taggings of 4 symbols are all in a set of 128, and in a beam of 128.
  CHECK(run("")[0]["tags"] == hamming["tags"]);
  CHECK(run("")[0]["expected_loss_status"] == "exact");
  const json edit = run("--loss edit --method filter -M 400")[0];
  CHECK(edit["expected_loss_status"] == "estimate");
  CHECK(edit["minimized_over"] == "candidates");
  CHECK(edit["candidates"].get<int>() <= 16);
  CHECK(run("--method filter -M 1")[0]["expected_loss_status"] == "unreliable");
  CHECK(run("--method beam --loss edit -M 3")[0]["expected_loss_status"] == "beam");
}

TEST_CASE("a model file has a loss of its own, and spans need tags that are of spans") {
  const Sandbox box;
  write_text(box.path("two.cpp"), kTwo);
  write_text(box.path("in.txt"), "a a\n");
  const auto tags = [&](const std::string& loss) {
    const auto result =
        box.program("scry decode two.cpp --input in.txt --format jsonl --loss " + loss);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    return json::parse(result.out);
  };
  CHECK(tags("whole")["tags"] == json({"O", "O"}));
  CHECK(tags("hamming")["tags"] == json({"B-X", "O"}));
  const json own = tags("own");
  CHECK(own["tags"][0] == "B-X");
  CHECK(own["expected_loss"].get<double>() > 0);
  CHECK(tags("spans")["minimized_over"] == "all taggings");  // the set holds all nine
  CHECK(box.program(kHmm + "in.txt --loss own").err ==
        "scry: --loss own: the model file has no loss of its own: return {model, proposal, loss} "
        "from SCRY_MODEL()\n");
  CHECK(box.program(kHmm + "in.txt --loss whole --candidates 3").err ==
        "scry: --candidates has no use with --loss whole: it is for spans, edit, own\n");
  const auto spans = box.program("lesson_01_hmm decode --input in.txt --loss spans");
  CHECK(spans.exit_code == 2);
  CHECK(spans.err ==
        "scry: --loss spans: labelled spans: the tag 'C' is neither O nor B-, I-, E- or S- and a "
        "label\n");
}

TEST_CASE("with gold tags the ways to decide stand side by side") {
  const Sandbox box;
  write_text(box.path("in.tsv"), "1 2 3\tC H H\n3 3\tH H\n1 1\tC C\n2\tC\n");
  const auto result = box.program(kHmm + "in.tsv --format jsonl -M 4");
  REQUIRE(result.exit_code == 0);
  const std::vector<json> objects = objects_of(result.out);
  REQUIRE(objects.size() == 5);
  CHECK(objects[0]["gold"] == json({"C", "H", "H"}));
  double wrong = 0;
  for (size_t t = 0; t < 3; ++t) wrong += objects[0]["tags"][t] == objects[0]["gold"][t] ? 0 : 1;
  CHECK(objects[0]["gold_loss"] == wrong);
  const json& comparison = objects[4]["comparison"];
  CHECK(comparison["sequences"] == 4);
  CHECK(comparison["left_out"] == 0);
  std::vector<std::string> names;
  for (const json& row : comparison["rows"]) {
    names.push_back(row["name"]);
    CHECK(row["tag_accuracy"].get<double>() >= 0);
    CHECK(row["tag_accuracy"].get<double>() <= 1);
    CHECK(row["tag_accuracy_interval"].is_null());  // of so few
    CHECK(row["span_f1"].is_null());
  }
  CHECK(names ==
        std::vector<std::string>{"viterbi", "beam", "best particle", "least risk (hamming)"});
  double right = 0, num = 0;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t t = 0; t < objects[i]["gold"].size(); ++t, ++num)
      right += objects[i]["gold"][t] == objects[i]["tags"][t] ? 1 : 0;
  }
  CHECK(comparison["rows"][3]["tag_accuracy"].get<double>() == Approx(right / num));
  CHECK(box.program(kHmm + "in.tsv --format jsonl -M 4").out == result.out);
  CHECK(box.program(kHmm + "in.tsv --format jsonl -M 4 --threads 1").out == result.out);
  CHECK(objects_of(box.program(kHmm + "in.tsv --format jsonl --alone").out).size() == 4);
  const std::string table = box.program(kHmm + "in.tsv").out;
  CHECK(table.find("decided by") != std::string::npos);
  CHECK(table.find("least risk (hamming)") != std::string::npos);
}

TEST_CASE("decided tags are written in the input's own layout, which goes on as input") {
  const Sandbox box;
  write_text(box.path("in.tsv"), "1 2 3\tC H H\n\n3\tH\r\n");
  const auto lines = box.program(kHmm + "in.tsv --format tags --alone -o out.tsv");
  CHECK(lines.exit_code == 0);
  CHECK(lines.out.empty());
  const std::vector<std::string> written = lines_of(test::read_file(box.path("out.tsv")));
  REQUIRE(written.size() == 2);
  CHECK(written[0].starts_with("1 2 3\t"));
  CHECK(written[1].starts_with("3\t"));
  CHECK(box.program("lesson_01_hmm score --input out.tsv").exit_code == 0);

  write_text(box.path("columns"), "# a comment\n1\tC\tfirst\n2\tH\tsecond\n\n3\tH\tthird\n\n");
  const auto columns =
      box.program(kHmm + "columns --columns 1,2 --format tags --alone -o out.conll");
  INFO(columns.err);
  CHECK(columns.exit_code == 0);
  const std::string text = test::read_file(box.path("out.conll"));
  const std::vector<std::string> rows = lines_of(text);
  REQUIRE(rows.size() == 5);
  CHECK(rows[0].starts_with("1\t"));
  CHECK(rows[0].ends_with("\tfirst"));
  CHECK(rows[2].empty());
  CHECK(rows[3].ends_with("\tthird"));
  const auto again =
      box.program(kHmm + "out.conll --columns 1,2 --format tags --alone -o again.conll");
  CHECK(again.exit_code == 0);
  CHECK(test::read_file(box.path("again.conll")) == text);

  write_text(box.path("bad.tsv"), "1 1\tC C\n9 1\tC C\n");
  const auto bad = box.program(kHmm + "bad.tsv --format tags -o out.tsv");
  CHECK(bad.exit_code == 1);
  CHECK(bad.err.ends_with("bad.tsv:2: step 1: '9' is not in the input alphabet\n"));
  CHECK(lines_of(test::read_file(box.path("out.tsv"))) == written);
}

TEST_CASE("a line that is wrong is told and the others are decided; gold tags must be tags") {
  const Sandbox box;
  write_text(box.path("in.tsv"), "1 2\tC H\n1\tC H\n1 2\tC X\n3\tC\n");
  const auto result = box.program(kHmm + "in.tsv --format jsonl");
  CHECK(result.exit_code == 1);
  CHECK(result.err == kRandom +
                          "in.tsv:2: 1 symbol but 2 tags\n"
                          "in.tsv:3: step 2: 'X' is not in the output alphabet\n");
  const std::vector<json> objects = objects_of(result.out);
  REQUIRE(objects.size() == 5);
  CHECK(objects[1]["error"] == "1 symbol but 2 tags");
  CHECK(objects[4]["comparison"]["sequences"] == 2);
  const auto constrained = box.program(kHmm + "in.tsv --format jsonl --constrain");
  CHECK(objects_of(constrained.out)[0]["tags"] == json({"C", "H"}));
}

TEST_CASE("ensembles are decided as they were sampled, from a file and from a pipe") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1 2\n3 3\n1 1 2 2 3 3 1\n");
  const std::string sample =
      "lesson_01_hmm sample --precision double --input in.txt --format jsonl -M 5 --method filter "
      "--resample always -o e.jsonl";
  REQUIRE(box.program(sample).exit_code == 0);
  for (const std::string loss : {"hamming", "whole", "edit"}) {
    const auto decided =
        box.program("lesson_01_hmm decode --input e.jsonl --format jsonl --loss " + loss);
    INFO(decided.err);
    CHECK(decided.exit_code == 0);
    CHECK(decided.err.empty());  // no weights are used
    const std::vector<json> objects = objects_of(decided.out);
    REQUIRE(objects.size() == 3);
    CHECK(objects[2]["method"] == "filter");
    CHECK(objects[2]["parameters"].is_null());
    CHECK(objects[2]["tags"].size() == 7);
    CHECK(box.program("lesson_01_hmm decode --input - --format jsonl --loss " + loss + " <e.jsonl")
              .out == decided.out);
  }
  CHECK(box.program("lesson_01_hmm decode --input e.jsonl -M 5").err ==
        "scry: --particles has no use with an input of ensembles: they are sampled\n");
  const auto tags = box.program("lesson_01_hmm decode --input e.jsonl --format tags -o t.tsv");
  CHECK(tags.exit_code == 0);
  CHECK(box.program("lesson_01_hmm score --input t.tsv").exit_code == 0);

  const auto scores = box.program("lesson_01_hmm score --precision double --input e.jsonl");
  CHECK(scores.exit_code == 0);
  size_t num_taggings = 0;
  for (const json& object : objects_of(test::read_file(box.path("e.jsonl")))) {
    for (const json& sequence : object["sequences"]) {
      const std::string row = lines_of(scores.out).at(++num_taggings);
      const size_t tab = row.find('\t', row.find('\t') + 1);
      CHECK(std::abs(std::stod(row.substr(tab + 1)) - sequence["log_score"].get<double>()) < 1e-6);
    }
  }
  CHECK(lines_of(scores.out).size() == num_taggings + 1);

  write_text(box.path("bad.jsonl"),
             lines_of(test::read_file(box.path("e.jsonl")))[0] + "\n{\"x\":[\"1\"]}\n{\"x\n");
  const auto bad = box.program("lesson_01_hmm decode --input bad.jsonl --format jsonl");
  CHECK(bad.exit_code == 1);
  CHECK(bad.err ==
        "bad.jsonl:2: no ensemble: there is no 'sequence'\n"
        "bad.jsonl:3: no ensemble: it is not a JSON object\n");
  CHECK(objects_of(bad.out).size() == 3);
}

TEST_CASE("rescoring by the same model changes no weight, and by another gives its log Z") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1\n3 3\n");
  const std::string hmm = "lesson_01_hmm ";
  const std::string all = "--format jsonl --precision double --method exact ";
  REQUIRE(box.program(hmm + "sample --input in.txt -o one.jsonl " + all).exit_code == 0);
  REQUIRE(box.program(hmm + "init --seed 9 -o p.safetensors").exit_code == 0);
  const auto same = box.program(hmm + "rescore --precision double --input one.jsonl");
  INFO(same.err);
  CHECK(same.exit_code == 0);
  CHECK(same.err == kRandom);
  const std::vector<json> before = objects_of(test::read_file(box.path("one.jsonl"))),
                          after = objects_of(same.out);
  REQUIRE(after.size() == 2);
  CHECK(after[0]["overlap"].get<double>() == Approx(1));
  CHECK(after[0]["log_z"].get<double>() == Approx(before[0]["log_z"].get<double>()));
  CHECK(after[0]["log_z_status"] == "exact");

  const std::string by_nine = hmm + "rescore --precision double --params p.safetensors --input ";
  const std::vector<json> other = objects_of(box.program(by_nine + "one.jsonl").out);
  const std::vector<json> direct =
      objects_of(box.program(hmm + "sample --input in.txt --params p.safetensors " + all).out);
  for (size_t i : {0, 1}) {
    CHECK(other[i]["log_z"].get<double>() == Approx(direct[i]["log_z"].get<double>()));
    CHECK(other[i]["sequences"][0]["tags"] == direct[i]["sequences"][0]["tags"]);
    CHECK(other[i]["combine"] == "replace");
    CHECK(other[i]["alpha"].is_null());
  }
  // A chain of commands, and a product that is its own record.
  const auto chain = box.run(
      "sh -c '" + test::bin_dir() +
      "/lesson_01_hmm sample --input in.txt --format jsonl -M 3 2>/dev/null | " + test::bin_dir() +
      "/lesson_01_hmm rescore --combine product --alpha 0.5 --params p.safetensors --input - | " +
      test::bin_dir() + "/lesson_01_hmm decode --input - --format jsonl'");
  INFO(chain.err);
  CHECK(chain.exit_code == 0);
  CHECK(objects_of(chain.out).size() == 2);

  CHECK(box.program(by_nine + "one.jsonl --alpha 2").exit_code == 2);
  const auto lines = box.program(by_nine + "in.txt");
  CHECK(lines.exit_code == 1);
  CHECK(lines_of(lines.err).at(0) == "in.txt:1: no ensemble: it is not a JSON object");
}

}  // namespace
}  // namespace scry
