// The table of methods, as users of the command meet it.
#include "tools/cli/method_options.h"

#include <algorithm>
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

/// Of the column of descriptions in a help, with white space as single blanks.
std::string squeezed(const std::string& text) {
  std::string result;
  for (char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank) result += c;
    if (blank && !result.empty() && result.back() != ' ') result += ' ';
  }
  return result;
}

TEST_CASE("the help of sample lists the methods of the table, each with its line, and no other") {
  const Sandbox box;
  const auto result = box.program("scry sample --help");
  REQUIRE(result.exit_code == 0);
  std::string names;
  for (const std::string& name : offered_methods()) names += (names.empty() ? "" : "|") + name;
  CHECK(result.out.find("--method " + names) != std::string::npos);
  const std::string help = squeezed(result.out);
  std::string lines;
  for (const std::string& name : offered_methods())
    lines += name + " " + find_method(name)->summary + " ";
  CHECK(help.find("discrete unless given: " + lines) != std::string::npos);
  for (const MethodRow& row : method_table()) {
    if (!row.is_offered) CHECK(help.find(row.summary + std::string(" ")) == std::string::npos);
  }
}

TEST_CASE("every offered method answers by the command, and JSON calls it as the table does") {
  const Sandbox box;
  write_text(box.path("in.txt"), "1 2 3 1 2\n");
  for (const std::string& name : offered_methods()) {
    const MethodRow& row = *find_method(name);
    const auto run = [&](const std::string& options) {
      const auto result = box.program(
          "lesson_01_hmm sample --input in.txt --format jsonl "
          "--precision double --method " +
          name + " " + options);
      INFO(result.err);
      REQUIRE(result.exit_code == 0);
      return json::parse(result.out);
    };
    INFO(name);
    // Few rows: what enumerates must draw instead, and says exact.
    const json record = run(row.make == nullptr && row.finds_ensembles() ? "--max-rows 20" : "");
    CHECK(record["method"] == name);
    // Viterbi finds no ensemble, but knows Z of its lattice.
    CHECK(record["log_z_status"].is_null() == (row.method == Method::kAstar));
    CHECK(record["optimal"].is_null() == row.finds_ensembles());
    if (row.log_z == LogZ::kExact) CHECK(record["log_z_status"] == "exact");
    if (row.log_z == LogZ::kLowerBound) CHECK(record["log_z_status"] == "lower bound");
    if (has_variants(name)) {
      CHECK(run("-M 3 --rank-by lookahead")["method"] == name);
      CHECK(&cli::chosen_method(name, "lookahead", true) == find_method(name, Weighs::kLookahead));
      CHECK(&cli::chosen_method(name, "", true) == find_method(name, Weighs::kLookahead));
      CHECK(&cli::chosen_method(name, "", false) == find_method(name, Weighs::kScore));
    }
  }
}

TEST_CASE("docs/output.md names the methods of the table, and no other") {
  std::set<std::string> documented, known;
  for (const std::string& line :
       lines_of(test::read_file(test::source_dir() + "/docs/output.md"))) {
    if (!line.starts_with("| `method` |")) continue;
    for (size_t at = line.find('"'); at != std::string::npos; at = line.find('"', at)) {
      const size_t end = line.find('"', at + 1);
      documented.insert(line.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  for (const MethodRow& row : method_table()) known.insert(row.name);
  CHECK(documented == known);
}

}  // namespace
}  // namespace scry
