#include "runtime/eval/reference.h"

#include "tests/catch.h"
#include "tests/support/eval_experiments.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::vector<int> kX{2, 0, 1, 1, 2, 0}, kShort{1, 2}, kOne{0};

}  // namespace

TEST_CASE("exact references are one, by enumeration or over finite states") {
  const ScoredHmm hmm(8);
  Experiment experiment{.configurations = configurations_named({"PF", "beam+lookahead"}),
                        .particles = {4}};
  const EvalTable enumerated = run_experiment(hmm, {kX, kShort}, experiment);
  experiment.max_taggings = 4;  // the short one has so many
  const EvalTable mixed = run_experiment(hmm, {kX, kShort}, experiment);
  CHECK(enumerated.num_enumerated == 2);
  CHECK(mixed.num_enumerated == 1);
  CHECK(mixed.num_finite == 1);
  for (size_t r = 0; r < enumerated.rows.size(); ++r) {
    CHECK(mixed.rows[r].exact_references == 2);
    for (const MeasureRow& measure : measure_table()) {
      const double value = enumerated.rows[r][measure.measure].value;
      INFO(measure.key);
      if (std::isnan(value)) continue;
      CHECK(mixed.rows[r][measure.measure].value == Approx(value).epsilon(1e-9).margin(1e-9));
    }
  }
}

TEST_CASE("what is not known exactly is called an estimate, and offset divergences are bounds") {
  const ScoredHmm hmm(9);
  const std::vector<int> x = random_symbols(kHmmSymbols, 12, 3),
                         y = random_symbols(kHmmSymbols, 11, 4);
  const std::vector<SampleInput> inputs{x, y};
  Experiment experiment{
      .configurations = configurations_named({"exact", "PF", "PS", "discrete", "beam"}),
      .particles = {2, 4},
      .runs = 3};
  const EvalTable exact = run_experiment(hmm, inputs, experiment);
  CHECK(exact.estimated_by.empty());
  CHECK(std::isnan(exact.reference_error.value));
  experiment.max_taggings = 0;
  experiment.max_states = 0;
  experiment.reference_particles = 1024;  // of 4096 and 2048 taggings
  const EvalTable estimated = run_experiment(hmm, inputs, experiment);
  CHECK(estimated.num_estimated == 2);
  CHECK(estimated.estimated_by == "4 runs of discrete with M = 1024");
  CHECK(estimated.reference_error.value < 0.02);
  CHECK(estimated.lookahead.inputs == 0);
  for (const EvalRow& row : estimated.rows) {
    INFO(row.configuration.name << ", M = " << row.particles);
    CHECK(row.inputs == 2);
    CHECK(row.references == 2);
    CHECK(row.exact_references == 0);
    const EvalRow& right = find_row(exact, row.configuration.name, row.particles);
    if (row.configuration.method == Method::kExact) {  // other draws, from nearly the same p
      CHECK(row[Measure::kKl].value > 0);
      CHECK(std::isnan(row[Measure::kBias].value));
      continue;
    }
    CHECK(row[Measure::kOffsetKl].value < right[Measure::kKl].value);
    CHECK(row[Measure::kKl].value >= row[Measure::kOffsetKl].value);
    CHECK(row[Measure::kKl].value == Approx(right[Measure::kKl].value).margin(0.05));
    CHECK(row[Measure::kMarginals].value == Approx(right[Measure::kMarginals].value).margin(0.1));
    CHECK(row[Measure::kBias].value == Approx(right[Measure::kBias].value).margin(0.05));
  }
}

TEST_CASE("a large set that never had to leave out a prefix is p itself") {
  const ScoredHmm hmm(9);
  Experiment experiment{
      .configurations = configurations_named({"PF", "discrete+lookahead", "exact"}),
      .particles = {3},
      .runs = 4};
  const EvalTable enumerated = run_experiment(hmm, {kX, kShort}, experiment);
  experiment.max_taggings = experiment.max_states = 0;
  experiment.reference_particles = 64;
  const EvalTable whole = run_experiment(hmm, {kX, kShort}, experiment);
  CHECK(whole.num_enumerated == 2);
  CHECK(whole.num_estimated == 0);
  for (size_t r = 0; r < whole.rows.size(); ++r) {
    CHECK(whole.rows[r].exact_references == 2);
    CHECK(whole.rows[r][Measure::kKl].value ==
          Approx(enumerated.rows[r][Measure::kKl].value).epsilon(1e-9));
    CHECK(whole.rows[r][Measure::kMarginals].value ==
          Approx(enumerated.rows[r][Measure::kMarginals].value).epsilon(1e-9));
    CHECK(whole.rows[r][Measure::kOffsetKl].value == whole.rows[r][Measure::kKl].value);
  }
}

TEST_CASE("a pool that misses some of Z bounds the divergence from below, and no KL is negative") {
  const ScoredHmm hmm(10);
  const std::vector<int> x = random_symbols(kHmmSymbols, 14, 3);
  Experiment experiment{.configurations = configurations_named({"PF", "PF:R", "PS", "beam"}),
                        .particles = {1, 8},
                        .runs = 2};
  const EvalTable exact = run_experiment(hmm, {x}, experiment);
  experiment.max_taggings = experiment.max_states = 0;
  experiment.reference_particles = 4;  // far too few
  const EvalTable poor = run_experiment(hmm, {x}, experiment);
  for (const EvalRow& row : poor.rows) {
    const EvalRow& right = find_row(exact, row.configuration.name, row.particles);
    CHECK(row[Measure::kOffsetKl].value >= 0);
    CHECK(row[Measure::kOffsetKl].value < right[Measure::kKl].value);
    CHECK(row[Measure::kKl].value >= row[Measure::kOffsetKl].value);
    // The offset is one for all.
    CHECK(right[Measure::kKl].value - row[Measure::kOffsetKl].value ==
          Approx(exact.rows[0][Measure::kKl].value - poor.rows[0][Measure::kOffsetKl].value));
  }
}

TEST_CASE("inputs that fail are counted and told of, and leave the others alone") {
  ScoredHmm hmm(12);
  hmm.set_emit(0, 1, -INFINITY);
  hmm.set_emit(1, 1, -INFINITY);  // the symbol 1 cannot be
  const std::vector<int> bad{0, 7}, impossible{0, 1, 2}, good{0, 2, 2};
  const TagSets too_short(1, kHmmTags), too_many(3, kHmmTags + 1);
  TagSets nothing(1, kHmmTags);
  nothing.allow_only(1, {});
  Experiment experiment{
      .configurations = configurations_named({"PF", "beam"}), .particles = {4}, .runs = 2};
  for (const int64_t max_taggings : {int64_t{64}, int64_t{0}}) {
    for (const int64_t max_states : {int64_t{64}, int64_t{0}}) {
      experiment.max_taggings = max_taggings;
      experiment.max_states = max_states;
      const EvalTable table = run_experiment(
          hmm, {good, bad, impossible, good, {kOne, nothing}, {good, too_short}, {good, too_many}},
          experiment);
      REQUIRE(table.left_out.size() == 5);
      CHECK(table.left_out[0].input == 1);
      CHECK(table.left_out[0].message == "step 2: the symbol 7 is outside the alphabet of 3");
      CHECK(table.left_out[1].input == 2);
      CHECK(table.left_out[2].input == 4);
      CHECK(table.num_inputs == 7);
      for (const EvalRow& row : table.rows) {
        CHECK(row.inputs == 2);
        CHECK(row.failed_inputs == 0);
        CHECK(std::isfinite(row[Measure::kKl].value));
      }
    }
  }
}
