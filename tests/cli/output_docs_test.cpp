// docs/output.md against what the programs print.
#include <nlohmann/json.hpp>
#include <set>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using nlohmann::json;
using test::lines_of;
using test::Sandbox;
using test::write_text;
using Keys = std::set<std::string>;

/// The keys in the first column of the tables under "## heading".
Keys documented(const std::string& heading) {
  Keys keys;
  bool inside = false;
  for (const std::string& line :
       lines_of(test::read_file(test::source_dir() + "/docs/output.md"))) {
    if (line.starts_with("## ")) inside = line == "## " + heading;
    if (inside && line.starts_with("| `")) keys.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return keys;
}

/// `open` are objects whose keys are names of the user's and not Scry's.
void collect(const json& value, const std::string& path, const Keys& open, Keys& keys) {
  if (value.is_array()) {
    for (const json& each : value) collect(each, path + "[]", open, keys);
  } else if (value.is_object() && !open.contains(path)) {
    for (const auto& [key, each] : value.items()) {
      const std::string inner = path.empty() ? key : path + "." + key;
      keys.insert(inner);
      collect(each, inner, open, keys);
    }
  }
}

/// Of all that the commands print, one object a line or one in all.
Keys printed(const Sandbox& box, const std::vector<std::string>& commands, bool one_in_all = false,
             const Keys& open = {}) {
  Keys keys;
  for (const std::string& command : commands) {
    const auto result = box.program(command);
    INFO(command << ": " << result.err);
    REQUIRE(result.exit_code == 0);
    if (one_in_all) {
      collect(json::parse(result.out), "", open, keys);
    } else {
      for (const std::string& line : lines_of(result.out))
        collect(json::parse(line), "", open, keys);
    }
  }
  return keys;
}

TEST_CASE("docs/output.md has every key that sample prints, for every method, and no other") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1\n");
  const std::string sample = "lesson_01_hmm sample --input in.txt --format jsonl --method ";
  const Keys expected = documented("sample --format jsonl");
  Keys all;
  for (const char* method : {"is", "filter", "smooth", "beam", "exact", "viterbi", "astar"}) {
    INFO(method);
    Keys keys = printed(box, {sample + method});
    all.merge(Keys(keys));
    Keys without_steps;
    for (const std::string& key : expected) {
      if (!key.starts_with("steps") && !key.starts_with("marginals") && key != "state")
        without_steps.insert(key);
    }
    CHECK(keys == without_steps);  // one schema
  }
  all.merge(printed(box, {sample + "filter --resample always --steps --marginals"}));
  write_text(box.path("in.txt"), "1 2 3 1\tC C H C\n");
  all.merge(printed(box, {sample + "smooth --given --sweeps 2"}));
  CHECK(all == expected);
}

TEST_CASE("docs/output.md has every key that decode and rescore print, and no other") {
  const Sandbox box;
  write_text(box.path("in.tsv"), "1 2 3 1\tC H C H\n1 2\tC C\n");
  CHECK(printed(box, {"lesson_01_hmm decode --input in.tsv --format jsonl"}) ==
        documented("decode --format jsonl"));
  REQUIRE(box.program("lesson_01_hmm sample --input in.tsv --format jsonl --method filter "
                      "--resample always --steps -o e.jsonl")
              .exit_code == 0);
  Keys expected = documented("rescore --format jsonl");
  expected.merge(documented("sample --format jsonl"));
  for (const char* key : {"marginals", "marginals_status", "state"}) expected.erase(key);
  CHECK(printed(box, {"lesson_01_hmm rescore --input e.jsonl"}) == expected);
}

TEST_CASE("docs/output.md has every key that eval prints, as JSON and as CSV, and no other") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1\n1 2\n");
  const std::string eval = "lesson_01_hmm eval --input in.txt -M 2,4 --runs 2 --format ";
  Keys keys = printed(box, {eval + "json", eval + "json --max-rows 0 --max-states 0"}, true);
  const auto failed = box.program(eval + "json --memory 1K");  // leaves the inputs out
  CHECK(failed.exit_code == 1);
  collect(json::parse(failed.out), "", {}, keys);
  CHECK(keys == documented("eval --format json"));

  Keys of_rows, columns;
  for (const std::string& key : keys) {
    if (key.starts_with("rows[].")) of_rows.insert(key.substr(7));
  }
  const auto csv = box.program(eval + "csv");
  REQUIRE(csv.exit_code == 0);
  std::istringstream header(lines_of(csv.out).front());
  for (std::string column; std::getline(header, column, ',');) columns.insert(column);
  CHECK(columns == of_rows);
}

TEST_CASE("docs/output.md has every key of an epoch, and no other") {
  const Sandbox box;
  std::string text;
  for (const std::string& line :
       lines_of(test::read_file(test::source_dir() + "/data/stress/train.tsv"))) {
    if (text.size() < 500) text += line + "\n";
  }
  write_text(box.path("a.tsv"), text);
  const std::string tagger = "lesson_03_stress_tagger ",
                    data = " --train a.tsv --dev a.tsv --epochs 1 ";
  CHECK(printed(box, {tagger + "fit" + data + "-o f.safetensors",
                      tagger + "fit" + data + "--objective conditional -M 4 -o c.safetensors"}) ==
        documented("fit"));
  CHECK(printed(box, {tagger + "learn --params f.safetensors -M 4" + data + "-o l.safetensors"}) ==
        documented("learn"));
}

TEST_CASE("docs/output.md has every key of graph and info, and no other") {
  const Sandbox box;
  CHECK(printed(box,
                {"lesson_01_hmm graph --format json",
                 "lesson_03_stress_tagger graph --format json --gradients",
                 "task_stress graph --format json --set vocab=" + test::source_dir() +
                     "/examples/tasks/phonemes.txt"},
                true, {"stages[].flops"}) == documented("graph --format json"));
  CHECK(printed(box, {"scry info --json"}, true) == documented("info --json"));
}

}  // namespace
}  // namespace scry
