#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/search/exact.h"
#include "runtime/search/search.h"
#include "runtime/smc/sample.h"
#include "tests/catch.h"
#include "tests/support/hand_hmm.h"

using namespace scry;
using namespace scry::test;
using Json = nlohmann::json;

namespace {

const Task kTask{Alphabet::of("a b c"), Alphabet::of("C H")};
const std::vector<int> kX{2, 0, 1, 1, 2, 0};

struct Hmm {
  Program program = hand_hmm();
  Parameters parameters = Parameters::fresh(program, 5);
};

void check_same(const Ensemble& a, const Ensemble& b) {
  CHECK(a.info.method == b.info.method);
  CHECK(a.info.resampling == b.info.resampling);
  CHECK(a.info.particles == b.info.particles);
  CHECK(a.info.runs == b.info.runs);
  CHECK(a.info.temperature == b.info.temperature);
  CHECK(a.info.seed == b.info.seed);
  CHECK(a.info.sequence == b.info.sequence);
  CHECK(a.info.beam_width == b.info.beam_width);
  CHECK(a.info.draws == b.info.draws);
  CHECK(a.info.weights == b.info.weights);
  CHECK(a.length == b.length);
  CHECK(a.tags == b.tags);
  CHECK(a.log_weights == b.log_weights);
  CHECK(a.log_scores == b.log_scores);
  CHECK(a.counts == b.counts);
  CHECK(a.log_z == b.log_z);
  CHECK(a.certainty == b.certainty);
  if (a.certainty != Certainty::kNoSpread) CHECK(a.log_z_error == b.log_z_error);
  CHECK(a.caution == b.caution);
  CHECK(a.ess() == b.ess());
  REQUIRE(a.steps.size() == b.steps.size());
  for (size_t t = 0; t < a.steps.size(); ++t) {
    CHECK((a.steps[t].ess == b.steps[t].ess ||
           (std::isnan(a.steps[t].ess) && std::isnan(b.steps[t].ess))));
    CHECK(a.steps[t].ancestors == b.steps[t].ancestors);
    CHECK(a.steps[t].num_rows == b.steps[t].num_rows);
  }
}

std::string record() {
  Hmm hmm;
  return to_json(sample(hmm.program, hmm.parameters, kX, {.particles = 5}), kTask);
}
/// What reading the record says after `change`.
std::string fault_after(const std::function<void(Json&)>& change) {
  Json json = Json::parse(record());
  change(json);
  try {
    ensemble_from_json(json.dump(), kTask);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every method's ensemble comes back from its JSON to the bit, and so does the JSON") {
  Hmm hmm;
  std::vector<Ensemble> ensembles;
  for (const Method method :
       {Method::kImportance, Method::kFilter, Method::kSmooth, Method::kDiscrete,
        Method::kDiscreteAhead, Method::kBeam, Method::kEnumerate}) {
    for (int particles : {1, 7}) {
      SampleOptions options{.method = method, .particles = particles};
      options.temperature = 0.7;
      options.seed = UINT64_MAX;
      options.first_sequence = 41;
      options.trigger = method == Method::kFilter ? Trigger::kAlways : Trigger::kAuto;
      ensembles.push_back(sample(hmm.program, hmm.parameters, kX, options));
      if (row_of(method).log_z != LogZ::kEstimate) continue;
      const SampleInput input(kX);
      ensembles.push_back(
          sample_runs(hmm.program, hmm.parameters, std::span(&input, 1), options, 3)[0].value());
      options.weights = Weights::kScore;
      ensembles.push_back(sample(hmm.program, hmm.parameters, kX, options));
    }
  }
  ensembles.push_back(exact(hmm.program, hmm.parameters, kX, {.particles = 9, .max_rows = 20}));
  for (const Ensemble& ensemble : ensembles) {
    const std::string text = to_json(ensemble, kTask);
    CAPTURE(text);
    const Ensemble again = ensemble_from_json(text, kTask);
    check_same(again, ensemble);
    CHECK(to_json(again, kTask) == text);
  }
}

TEST_CASE("sequences may stand in any order, and steps and derived keys may be missing") {
  const Ensemble ensemble = ensemble_from_json(record(), kTask);
  Json json = Json::parse(record());
  std::reverse(json["sequences"].begin(), json["sequences"].end());
  json.erase("steps");
  json.erase("ess");
  json.erase("rows");
  json["unheard-of"] = {{"a", 1}};
  for (Json& sequence : json["sequences"]) sequence.erase("probability");
  const Ensemble read = ensemble_from_json(json.dump(), kTask);
  CHECK(read.tags == ensemble.tags);
  CHECK(read.log_weights == ensemble.log_weights);
  CHECK(read.steps.empty());
}

TEST_CASE("infinities come back") {
  Json json = Json::parse(record());
  json["sequences"][0]["log_weight"] = nullptr;
  json["sequences"][0]["log_score"] = nullptr;
  double total = 0;
  for (size_t i = 1; i < json["sequences"].size(); ++i)
    total += std::exp(json["sequences"][i]["log_weight"].get<double>());
  json["log_z"] = total > 0 ? Json(std::log(total)) : Json();
  const Ensemble read = ensemble_from_json(json.dump(), kTask);
  CHECK(read.log_weights.back() == -INFINITY);
  CHECK(read.log_scores.back() == -INFINITY);
}

TEST_CASE("what is no ensemble is refused in one line that says why") {
  CHECK_THROWS_WITH(ensemble_from_json("", kTask), "it is not a JSON object");
  CHECK_THROWS_WITH(ensemble_from_json("[1]", kTask), "it is not a JSON object");
  CHECK_THROWS_WITH(ensemble_from_json("{\"a\":[[[[[1]]]]]}", kTask), "it is nested too deeply");
  CHECK_THROWS_WITH(ensemble_from_json("{}", kTask), "there is no 'sequence'");
  CHECK(fault_after([](Json& json) { json["method"] = "magic"; }) == "there is no method 'magic'");
  CHECK(fault_after([](Json& json) { json["method"] = "viterbi"; }) ==
        "viterbi finds one tagging without a weight, and no ensemble");
  CHECK(fault_after([](Json& json) { json["temperature"] = 0; }) ==
        "'temperature' is not a number above 0");
  CHECK(fault_after([](Json& json) { json["runs"] = -1; }) ==
        "'runs' is not a whole number that it can be");
  CHECK(fault_after([](Json& json) { json["log_z_status"] = "sure"; }) ==
        "'log_z_status' is not one that there is");
  CHECK(fault_after([](Json& json) {
          json["num_sequences"] = 100;
        }).find("taggings: sample without") != std::string::npos);
  CHECK(fault_after([](Json& json) { json["length"] = 5; }) == "a tagging has 6 tags of 5");
  CHECK(fault_after([](Json& json) { json["sequences"][0]["tags"][0] = "X"; }) ==
        "'X' is not in the output alphabet");
  CHECK(fault_after([](Json& json) { json["sequences"][0]["tags"][0] = 1; }) ==
        "'tags' is not a list of names");
  CHECK(fault_after([](Json& json) { json["sequences"][0]["count"] = 0; }) ==
        "'count' is not a whole number that it can be");
  CHECK(fault_after([](Json& json) { json["sequences"][0] = json["sequences"][1]; }) ==
        "a tagging is there twice");
  CHECK(fault_after([](Json& json) { json["log_z"] = 77; }).starts_with("the weights add up to"));
  CHECK(fault_after([](Json& json) { json["sequences"] = 1; }) == "'sequences' is not a list");
}
