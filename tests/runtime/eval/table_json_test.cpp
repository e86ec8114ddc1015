#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/eval/experiment.h"
#include "tests/catch.h"
#include "tests/support/eval_experiments.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::vector<int> kX{2, 0, 1, 1, 2, 0}, kShort{1, 2};

}  // namespace

TEST_CASE("JSON and CSV have the same rows, and nothing for what is not known") {
  const ScoredHmm hmm(16);
  const EvalTable table = run_experiment(
      hmm, {kX, kShort},
      {.configurations = configurations_named({"exact", "PS", "beam"}), .particles = {2, 3}});
  const auto json = nlohmann::json::parse(to_json(table));
  CHECK(json["inputs"] == 2);
  CHECK(json["reference"]["enumerated"] == 2);
  CHECK(json["reference"]["estimated_by"].is_null());
  CHECK(json["lookahead"]["calibration"] == table.lookahead.deviation.value);
  std::istringstream csv(to_csv(table));
  std::string line, cell;
  std::getline(csv, line);
  std::vector<std::string> keys;
  for (std::istringstream cells(line); std::getline(cells, cell, ',');) keys.push_back(cell);
  REQUIRE(json["rows"].size() == 6);
  for (const auto& row : json["rows"]) {
    CHECK(row.size() == keys.size());
    REQUIRE(std::getline(csv, line));
    std::istringstream cells(line + ",");
    for (const std::string& key : keys) {
      REQUIRE(std::getline(cells, cell, ','));
      INFO(key << ": " << cell);
      REQUIRE(row.contains(key));
      if (row[key].is_null()) CHECK(cell.empty());
      if (row[key].is_string()) CHECK(cell == row[key]);
      if (row[key].is_number()) CHECK(std::stod(cell) == row[key].get<double>());
    }
  }
  CHECK(!std::getline(csv, line));
}
