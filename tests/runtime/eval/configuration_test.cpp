#include "runtime/eval/configuration.h"

#include <algorithm>
#include <set>

#include "tests/catch.h"

using namespace scry;

TEST_CASE("every offered method that finds ensembles can be compared, by a name of its own") {
  std::set<std::string> names;
  std::set<Method> methods;
  for (const Configuration& known : known_configurations()) {
    INFO(known.name);
    names.insert(known.name);
    methods.insert(known.method);
    CHECK(!known.summary.empty());
    CHECK(known.trigger != Trigger::kAuto);
    CHECK(find_configuration(known.name)->name == known.name);
  }
  CHECK(names.size() == known_configurations().size());
  for (const MethodRow& row : method_table()) {
    INFO(row.name << ": " << row.summary);
    CHECK(methods.contains(row.method) == (row.is_offered && row.finds_ensembles()));
  }
}

TEST_CASE("the paper's names are filtering and smoothing, resampled if :R says so") {
  struct Named {
    const char* name;
    Method method;
    Trigger trigger;
  };
  for (const Named& named : {Named{"PF", Method::kFilter, Trigger::kNever},
                             {"PF:R", Method::kFilter, Trigger::kEss},
                             {"PS", Method::kSmooth, Trigger::kNever},
                             {"ps:r", Method::kSmooth, Trigger::kEss},
                             {"is", Method::kImportance, Trigger::kNever},
                             {"IS:R", Method::kImportance, Trigger::kEss},
                             {"BEAM", Method::kBeam, Trigger::kNever},
                             {"beam+lookahead", Method::kBeamAhead, Trigger::kNever},
                             {"discrete", Method::kDiscrete, Trigger::kNever},
                             {"Discrete+Lookahead", Method::kDiscreteAhead, Trigger::kNever},
                             {"PS:A", Method::kSmooth, Trigger::kNever},
                             {"exact", Method::kExact, Trigger::kNever}}) {
    INFO(named.name);
    const std::optional<Configuration> found = find_configuration(named.name);
    REQUIRE(found);
    CHECK(found->method == named.method);
    CHECK(found->trigger == named.trigger);
  }
  for (const char* unknown : {"", "P", "PFR", "beam:R", "discrete:R", "viterbi", "enumerate",
                              "filter:R", "+score", "beam+score", "PS+score+score"})
    CHECK(!find_configuration(unknown));
}

TEST_CASE("draws may be arithmetic, and taggings weighted by their scores") {
  CHECK(find_configuration("PF:A")->draws == Draws::kArithmetic);
  CHECK(find_configuration("PF")->draws == Draws::kIndependent);
  CHECK(find_configuration("PF")->weights == Weights::kSampler);
  for (const char* name : {"PF", "PS:R", "PS:A", "discrete+lookahead", "exact"}) {
    const std::optional<Configuration> found = find_configuration(std::string(name) + "+Score");
    REQUIRE(found);
    CHECK(found->name == std::string(name) + "+score");
    CHECK(found->weights == Weights::kScore);
    CHECK(found->method == find_configuration(name)->method);
    CHECK(found->trigger == find_configuration(name)->trigger);
    CHECK(found->draws == find_configuration(name)->draws);
  }
}

TEST_CASE("a method's own name is what it does by default") {
  for (const char* name : {"filter", "smooth"}) {
    const MethodRow& row = *find_method(name);
    const std::optional<Configuration> found = find_configuration(name);
    REQUIRE(found);
    CHECK(found->method == row.method);
    CHECK(found->trigger == row.trigger);
  }
}

TEST_CASE("without a lookahead nothing is compared that needs one") {
  const auto needs_lookahead = [](const Configuration& c) {
    return row_of(c.method).needs_lookahead();
  };
  CHECK(std::ranges::none_of(default_configurations(false), needs_lookahead));
  CHECK(std::ranges::any_of(default_configurations(true), needs_lookahead));
  CHECK(default_configurations(true).front().name == "exact");
}
