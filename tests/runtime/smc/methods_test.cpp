#include "runtime/smc/methods.h"

#include <nlohmann/json.hpp>
#include <set>

#include "runtime/smc/metrics.h"
#include "runtime/smc/sample.h"
#include "tests/catch.h"
#include "tests/support/hand_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::vector<int> kX{2, 0, 1, 1, 2, 0};

struct Hmm {
  Program program = hand_hmm();
  Parameters parameters = Parameters::fresh(program, 5);
  Ensemble sample_by(const MethodRow& row, uint64_t seed = 1,
                     Trigger trigger = Trigger::kAuto) const {
    return sample(
        program, parameters, kX,
        {.method = row.method, .particles = 8, .trigger = trigger, .alpha = 0.9, .seed = seed});
  }
};

std::vector<MethodRow> rows_with_population() {
  std::vector<MethodRow> rows;
  for (const MethodRow& row : method_table()) {
    if (row.make != nullptr) rows.push_back(row);
  }
  return rows;
}

bool fits(LogZ log_z, Certainty certainty) {
  switch (log_z) {
    case LogZ::kExact:
      return certainty == Certainty::kExact;
    case LogZ::kLowerBound:
      return certainty == Certainty::kLowerBound;
    case LogZ::kEstimate:
      return certainty != Certainty::kExact && certainty != Certainty::kLowerBound;
    case LogZ::kNothing:
      break;
  }
  return false;
}

}  // namespace

TEST_CASE("every method with a population samples as its row says") {
  const Hmm hmm;
  const double log_z = enumerate(hmm.program, hmm.parameters, kX).log_z;
  CHECK(rows_with_population().size() >= 6);
  for (const MethodRow& row : rows_with_population()) {
    const Ensemble drawn = hmm.sample_by(row), again = hmm.sample_by(row, 2);
    INFO(row.name << ": " << row.summary);
    REQUIRE(drawn.size() > 0);
    CHECK(drawn.info.method == row.name);
    CHECK(nlohmann::json::parse(to_json(drawn, hmm.program.task))["method"] == row.name);
    CHECK(fits(row.log_z, drawn.certainty));
    if (row.log_z == LogZ::kLowerBound) CHECK(drawn.log_z <= log_z);
    if (row.log_z == LogZ::kExact) CHECK(drawn.log_z == log_z);
    const bool differs = drawn.tags != again.tags || drawn.log_weights != again.log_weights;
    CHECK(differs == row.is_random);
    CHECK((drawn.info.particles > 0) == row.is_random);
    if (row.selects == Selects::kAll) CHECK(drawn.size() == 64);
    if (row.selects == Selects::kBest) CHECK(drawn.size() == 8);
    CHECK(drawn.has_counts() == (row.selects == Selects::kDraws));
  }
}

TEST_CASE("resampling is by default as a method's row says") {
  const Hmm hmm;
  for (const MethodRow& row : rows_with_population()) {
    INFO(row.name);
    REQUIRE(row.trigger != Trigger::kAuto);
    const Ensemble by_default = hmm.sample_by(row), as_said = hmm.sample_by(row, 1, row.trigger);
    CHECK(by_default.info.resampling == as_said.info.resampling);
    CHECK(by_default.log_weights == as_said.log_weights);
    if (row.selects != Selects::kDraws) CHECK(by_default.info.resampling.empty());
  }
}

TEST_CASE("a method asks for a lookahead if it weighs by it, and uses one if it proposes by it") {
  const Program blind = hand_hmm_without_proposal();
  const Parameters parameters = Parameters::fresh(blind, 5);
  const Hmm hmm;
  for (const MethodRow& row : rows_with_population()) {
    INFO(row.name << ": " << row.summary);
    const auto run = [&] {
      return sample(blind, parameters, kX, {.method = row.method, .particles = 8});
    };
    if (row.needs_lookahead()) {
      CHECK_THROWS_WITH(
          run(),
          "the model has no proposal to look ahead with; use filter, discrete or beam by score");
    } else {
      // The model's own parameters are the same in both: only a lookahead makes a difference.
      const bool differs = run().log_weights != sample(hmm.program, hmm.parameters, kX,
                                                       {.method = row.method, .particles = 8})
                                                    .log_weights;
      CHECK(differs == row.looks_ahead());
    }
  }
}

TEST_CASE("the paper's methods propose and weigh as it says") {
  const auto is = [](Method method, Proposes proposes, Weighs weighs, Trigger trigger) {
    const MethodRow& row = row_of(method);
    return row.proposes == proposes && row.weighs == weighs && row.trigger == trigger;
  };
  CHECK(is(Method::kImportance, Proposes::kLookahead, Weighs::kScore, Trigger::kNever));
  CHECK(is(Method::kFilter, Proposes::kScore, Weighs::kScore, Trigger::kEss));
  CHECK(is(Method::kSmooth, Proposes::kLookahead, Weighs::kLookahead, Trigger::kEss));
  CHECK(is(Method::kBeam, Proposes::kEvery, Weighs::kScore, Trigger::kNever));
  CHECK(is(Method::kBeamAhead, Proposes::kEvery, Weighs::kLookahead, Trigger::kNever));
}

TEST_CASE("sampling by a search is refused") {
  const Hmm hmm;
  for (const MethodRow& row : method_table()) {
    if (row.make != nullptr) continue;
    CHECK_THROWS_WITH(hmm.sample_by(row), std::string(row.name) +
                                              " does not sample step by step; call exact, viterbi "
                                              "or search_best_first");
  }
}

TEST_CASE("methods are found by their names, and variants by what weighs") {
  std::set<std::pair<std::string, Weighs>> seen;
  for (const MethodRow& row : method_table()) {
    CHECK(row_of(row.method).name == row.name);
    CHECK(seen.emplace(row.name, row.weighs).second);
    REQUIRE(find_method(row.name, row.weighs) != nullptr);
    CHECK(find_method(row.name, row.weighs)->method == row.method);
    CHECK(std::string(row.summary).size() > 5);
  }
  CHECK(find_method("beam")->method == Method::kBeam);
  CHECK(find_method("beam", Weighs::kLookahead)->method == Method::kBeamAhead);
  CHECK(has_variants("beam"));
  CHECK_FALSE(has_variants("smooth"));
  CHECK(find_method("nothing") == nullptr);
  CHECK(find_method("filter", Weighs::kLookahead) == nullptr);
  CHECK(offered_methods() == std::vector<std::string>{"is", "filter", "smooth", "discrete", "beam",
                                                      "exact", "viterbi", "astar"});
  CHECK(default_method(false) == Method::kDiscrete);
  CHECK(default_method(true) == Method::kDiscreteAhead);
}
