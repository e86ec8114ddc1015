#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "runtime/search/search.h"
#include "runtime/smc/ensemble.h"
#include "tests/catch.h"
#include "tests/support/hand_ensemble.h"

using namespace scry;
using test::hand_ensemble;
using Json = nlohmann::json;

namespace {

const Task kTask{Alphabet::of("a b"), Alphabet::of("B I O")};

/// Two steps, of which the second resampled, with 4 particles on two sequences.
Ensemble filtered() {
  Ensemble ensemble =
      hand_ensemble({{{0, 1}, std::log(3), 3, -1.5}, {{2, 2}, std::log(1), 1, -2.5}}, 2, 4);
  ensemble.info = {"filter", "multinomial if ESS < 0.5 M", 4, 1, 2, UINT64_MAX, 6};
  ensemble.log_z_error = 0.1;
  ensemble.steps = {{4, false, 1, {}}, {1.25, true, 3, {0, 0, 2, 0}}};
  return ensemble;
}

}  // namespace

TEST_CASE("the JSON of a run says what was asked and what came out") {
  const Json json = Json::parse(to_json(filtered(), kTask));
  CHECK(json["sequence"] == 7);
  CHECK(json["method"] == "filter");
  CHECK(json["resampling"] == "multinomial if ESS < 0.5 M");
  CHECK(json["particles"] == 4);
  CHECK(json["runs"] == 1);
  CHECK(json["temperature"] == 2);
  CHECK(json["seed"] == UINT64_MAX);
  CHECK(json["length"] == 2);
  CHECK(json["log_z"].get<double>() == Approx(std::log(4)));
  CHECK(json["log_z_error"] == 0.1);
  CHECK(json["ess"].get<double>() == Approx(4));
  CHECK(json["rows"] == 4);
  CHECK(json["rows_per_particle_step"] == 0.5);
  CHECK(json["num_sequences"] == 2);
  REQUIRE(json["sequences"].size() == 2);
  const Json& first = json["sequences"][0];
  CHECK(first["tags"] == Json{"B", "I"});
  CHECK(first["probability"].get<double>() == Approx(0.75));
  CHECK(first["log_weight"] == std::log(3));
  CHECK(first["log_score"] == -1.5);
  CHECK(first["count"] == 3);
  CHECK(json["sequences"][1]["tags"] == Json{"O", "O"});
  REQUIRE(json["steps"].size() == 2);
  CHECK(json["steps"][0] == Json{{"ess", 4.0}, {"resampled", false}, {"rows", 1}});
  CHECK(json["steps"][1] ==
        Json{{"ess", 1.25}, {"resampled", true}, {"rows", 3}, {"ancestors", {0, 0, 2, 0}}});
}

TEST_CASE("the JSON of a beam calls a lower bound by its name, and no share a probability") {
  Ensemble beam = filtered();
  beam.certainty = Certainty::kLowerBound;
  beam.log_z_error.reset();
  const Json json = Json::parse(to_json(beam, kTask));
  CHECK(json["log_z"].is_null());
  CHECK(json["log_z_lower_bound"].get<double>() == Approx(std::log(4)));
  CHECK(json["log_z_status"] == "lower bound");
  CHECK(json["sequences"][0]["probability"].is_null());
  CHECK(json["sequences"][0]["share"].get<double>() == Approx(0.75));
}

TEST_CASE("exact draws have p(y | x) and not the share of draws for their probability") {
  Ensemble draws = filtered();
  draws.certainty = Certainty::kExact;
  draws.log_z = -1;  // and the temperature is 2
  const Json first = Json::parse(to_json(draws, kTask))["sequences"][0];
  CHECK(first["probability"].get<double>() == Approx(std::exp(-1.5 / 2 + 1)));
  CHECK(first["log_probability"].get<double>() == Approx(-1.5 / 2 + 1));
  draws.log_scores[0] = -3000;  // below what a double holds
  CHECK(Json::parse(to_json(draws, kTask))["sequences"][0]["log_probability"] == -1499);
}

TEST_CASE("an error of 0 is in the JSON of exact answers only, and a caution says why") {
  Ensemble ensemble = filtered();
  ensemble.log_z_error = 0;
  ensemble.certainty = Certainty::kNoSpread;
  ensemble.caution = "all weights are equal";
  const Json equal = Json::parse(to_json(ensemble, kTask));
  CHECK(equal["log_z_error"].is_null());
  CHECK(equal["log_z_status"] == "no spread");
  CHECK(equal["log_z_caution"] == "all weights are equal");
  ensemble.certainty = Certainty::kExact;
  CHECK(Json::parse(to_json(ensemble, kTask))["log_z_error"] == 0);
}

TEST_CASE("the JSON of a search has the same keys as that of a run") {
  const Best best{{0, 1}, -1.5, false, "the lookahead is learned", 9};
  const nlohmann::ordered_json found =
      nlohmann::ordered_json::parse(to_json(best, kTask, "astar", 6));
  const nlohmann::ordered_json run =
      nlohmann::ordered_json::parse(to_json(filtered(), kTask, SIZE_MAX, false));
  std::vector<std::string> keys, expected;
  for (const auto& [key, value] : found.items()) keys.push_back(key);
  for (const auto& [key, value] : found["sequences"][0].items()) keys.push_back(key);
  for (const auto& [key, value] : run.items()) expected.push_back(key);
  for (const auto& [key, value] : run["sequences"][0].items()) expected.push_back(key);
  CHECK(keys == expected);
  CHECK(found["sequence"] == 7);
  CHECK(found["method"] == "astar");
  CHECK(found["optimal"] == false);
  CHECK(found["why"] == "the lookahead is learned");
  CHECK(found["rows"] == 9);
  CHECK(found["sequences"][0]["log_score"] == -1.5);
  CHECK(found["log_z"].is_null());
}

TEST_CASE("the JSON of a run is one line without an end, in a fixed order of keys") {
  const std::string text = to_json(filtered(), kTask);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.rfind("{\"sequence\":7,\"method\":\"filter\",", 0) == 0);
  CHECK(text.back() == '}');
}

TEST_CASE("the JSON can leave out light sequences and the steps") {
  const Json json = Json::parse(to_json(filtered(), kTask, 1, false));
  REQUIRE(json["sequences"].size() == 1);
  CHECK(json["sequences"][0]["tags"] == Json{"B", "I"});
  CHECK(json["num_sequences"] == 2);
  CHECK_FALSE(json.contains("steps"));
  CHECK(json["rows"] == 4);  // though the steps are not told
  CHECK(Json::parse(to_json(filtered(), kTask, 0))["sequences"] == Json::array());
}

TEST_CASE("infinities and unknowns are null in JSON") {
  Ensemble ensemble = filtered();
  ensemble.log_weights = {-INFINITY, -INFINITY};
  ensemble.log_scores = {-INFINITY, NAN};
  ensemble.log_z = -INFINITY;
  ensemble.log_z_error.reset();
  ensemble.steps[0].ess = NAN;
  const Json json = Json::parse(to_json(ensemble, kTask));
  CHECK(json["log_z"].is_null());
  CHECK(json["log_z_error"].is_null());
  CHECK(json["ess"] == 0);
  CHECK(json["sequences"][0]["log_weight"].is_null());
  CHECK(json["sequences"][0]["log_score"].is_null());
  CHECK(json["sequences"][0]["probability"] == 0);
  CHECK(json["sequences"][1]["log_score"].is_null());
  CHECK(json["steps"][0]["ess"].is_null());
}

TEST_CASE("the rows of pooled runs are unknown, and those of a beam are not shared by particles") {
  const Json pooled = Json::parse(to_json(pool_runs(std::vector{filtered(), filtered()}), kTask));
  CHECK(pooled["runs"] == 2);
  CHECK(pooled["rows"].is_null());
  CHECK(pooled["rows_per_particle_step"].is_null());
  CHECK(pooled["steps"] == Json::array());
  Ensemble beam = filtered();
  beam.info.particles = 0;
  const Json json = Json::parse(to_json(beam, kTask));
  CHECK(json["rows"] == 4);
  CHECK(json["rows_per_particle_step"].is_null());
}

TEST_CASE("an empty ensemble and an empty sequence have JSON, too") {
  const Json none = Json::parse(to_json(hand_ensemble({}, 2, 4), kTask));
  CHECK(none["sequences"] == Json::array());
  CHECK(none["num_sequences"] == 0);
  CHECK(none["log_z"].is_null());
  const Json empty = Json::parse(to_json(hand_ensemble({{{}, 0.0, 4}}, 0, 4), kTask));
  CHECK(empty["sequences"][0]["tags"] == Json::array());
  CHECK(empty["sequences"][0]["probability"] == 1);
  CHECK(empty["rows"] == 0);
  CHECK(empty["rows_per_particle_step"].is_null());
}

TEST_CASE("numbers survive JSON to the last bit") {
  Ensemble ensemble = filtered();
  for (double value : {0.1, 1.0 / 3, -1e4 / 7, 5e-324, std::numeric_limits<double>::max(),
                       std::nextafter(1.0, 2.0), -1e-300 / 3}) {
    ensemble.log_scores[0] = value;
    ensemble.log_z_error = value;
    const Json json = Json::parse(to_json(ensemble, kTask));
    CHECK(json["sequences"][0]["log_score"].get<double>() == value);
    CHECK(json["log_z_error"].get<double>() == value);
    CHECK(json["log_z"].get<double>() == ensemble.log_z);
  }
}

TEST_CASE("names that are no UTF-8 do not break the JSON, unknown tags are an error") {
  const Task latin{Alphabet::of("a"), Alphabet({"\xe9", "\"quoted\" \\", "O"})};
  const Json json = Json::parse(to_json(filtered(), latin));
  CHECK(json["sequences"][0]["tags"] == Json{"\xef\xbf\xbd", "\"quoted\" \\"});
  const Task short_task{Alphabet::of("a"), Alphabet::of("B I")};
  CHECK_THROWS_AS(to_json(filtered(), short_task), Error);
}
