#include "runtime/eval/experiment.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/smc/metrics.h"
#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::vector<int> kX{2, 0, 1, 1, 2, 0}, kShort{1, 2}, kOne{0};

std::vector<Configuration> named(std::initializer_list<const char*> names) {
  std::vector<Configuration> configurations;
  for (const char* name : names) configurations.push_back(find_configuration(name).value());
  return configurations;
}

EvalTable run(const ScoredHmm& hmm, const std::vector<SampleInput>& inputs,
              const Experiment& experiment) {
  return evaluate(hmm.program, hmm.parameters, inputs, experiment);
}

const EvalRow& row_of(const EvalTable& table, const std::string& name, int particles) {
  const auto found = std::ranges::find_if(table.rows, [&](const EvalRow& row) {
    return row.configuration.name == name && row.particles == particles;
  });
  REQUIRE(found != table.rows.end());
  return *found;
}

/// But for time.
void check_same(const EvalTable& a, const EvalTable& b) {
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  REQUIRE(a.rows.size() == b.rows.size());
  for (size_t r = 0; r < a.rows.size(); ++r) {
    INFO(a.rows[r].configuration.name << ", M = " << a.rows[r].particles);
    CHECK(a.rows[r].inputs == b.rows[r].inputs);
    CHECK(a.rows[r].empty_runs == b.rows[r].empty_runs);
    for (const MeasureRow& measure : measure_table()) {
      INFO(measure.key);
      CHECK(same(a.rows[r][measure.measure].value, b.rows[r][measure.measure].value));
      CHECK(same(a.rows[r][measure.measure].error, b.rows[r][measure.measure].error));
    }
  }
  CHECK(same(a.lookahead.deviation.value, b.lookahead.deviation.value));
}

/// The p of an input, written out.
struct Truth {
  std::map<std::vector<int>, double> p;
  double log_z;
  Truth(const ScoredHmm& hmm, const std::vector<int>& x) {
    const auto scores = all_scores(hmm, x);
    log_z = log_total(scores);
    for (const auto& [y, score] : scores) p[y] = std::exp(score - log_z);
  }
};

/// Σ_t ½ Σ_y |p̂(y_t) - p(y_t)|, written out.
double marginal_distance(const Ensemble& p_hat, const Truth& truth, size_t length) {
  double total = 0;
  for (size_t t = 0; t < length; ++t) {
    for (int tag = 0; tag < kHmmTags; ++tag) {
      double difference = 0;
      for (size_t i = 0; i < p_hat.size(); ++i)
        difference += p_hat.sequence(i)[t] == tag ? p_hat.probability(i) : 0;
      for (const auto& [y, p] : truth.p) difference -= y[t] == tag ? p : 0;
      total += std::abs(difference) / 2;
    }
  }
  return total;
}

}  // namespace

TEST_CASE("every measure is that of its definition, over inputs and runs") {
  const ScoredHmm hmm(3);
  const std::vector<SampleInput> inputs{kX, kShort};
  const int runs = 3, particles = 5;
  const EvalTable table = run(hmm, inputs,
                              {.configurations = named({"PS", "PF:R", "beam", "discrete", "PS:A",
                                                        "discrete+lookahead+score", "PF+score"}),
                               .particles = {particles},
                               .runs = runs,
                               .sampling = {.seed = 11}});
  CHECK(table.num_enumerated == 2);
  for (const EvalRow& row : table.rows) {
    INFO(row.configuration.name);
    const bool is_beam = row.configuration.method == Method::kBeam;
    CHECK(row.runs == (is_beam ? 1 : runs));
    CHECK(row.inputs == 2);
    CHECK(row.exact_references == 2);
    double kl = 0, bias = 0, squares = 0, variance = 0, ratio = 0, marginals = 0, ess = 0,
           taggings = 0, proposal = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::vector<int> x(inputs[i].x.begin(), inputs[i].x.end());
      const Truth truth(hmm, x);
      std::vector<double> log_z;
      const double n = 2 * row.runs;
      for (int r = 0; r < row.runs; ++r) {
        const Ensemble e = sample(hmm.program, hmm.parameters, x,
                                  {.method = row.configuration.method,
                                   .particles = particles,
                                   .trigger = row.configuration.trigger,
                                   .draws = row.configuration.draws,
                                   .weights = row.configuration.weights,
                                   .seed = derive_seed(11, static_cast<uint32_t>(r)),
                                   .first_sequence = static_cast<int64_t>(i)});
        for (size_t k = 0; k < e.size(); ++k) {
          const double p = truth.p.at(ints(e.sequence(k)));
          kl += e.probability(k) * std::log2(e.probability(k) / p) / n;
          if (e.has_counts())
            proposal += e.count(k) / double{particles} * (truth.log_z - e.particle_log_weight(k)) /
                        std::log(2) / n;
        }
        bias += (e.log_z - truth.log_z) / n;
        squares += std::pow(e.log_z - truth.log_z, 2) / n;
        ratio += std::exp(e.log_z - truth.log_z) / n;
        marginals += marginal_distance(e, truth, x.size()) / n;
        ess += e.ess() / particles / n;
        taggings += static_cast<double>(e.size()) / n;
        log_z.push_back(e.log_z);
      }
      double mean = 0;
      for (double each : log_z) mean += each / row.runs;
      for (double each : log_z) variance += (each - mean) * (each - mean) / (row.runs - 1) / 2;
    }
    CHECK(row[Measure::kKl].value == Approx(kl));
    CHECK(row[Measure::kOffsetKl].value == Approx(kl));  // z = Z
    CHECK(row[Measure::kBias].value == Approx(bias));
    CHECK(row[Measure::kRmse].value == Approx(std::sqrt(squares)));
    CHECK(row[Measure::kRatio].value == Approx(ratio));
    CHECK(row[Measure::kMarginals].value == Approx(marginals));
    CHECK(row[Measure::kTaggings].value == Approx(taggings));
    if (is_beam) {  // nothing varies, and that is no merit
      CHECK(std::isnan(row[Measure::kDeviation].value));
      CHECK(std::isnan(row[Measure::kEss].value));
      CHECK(row[Measure::kBias].value < 0);
    } else {
      CHECK(row[Measure::kDeviation].value == Approx(std::sqrt(variance)));
      CHECK(row[Measure::kEss].value == Approx(ess));
    }
    if (row.configuration.name == "PS" || row.configuration.name == "PS:A") {
      CHECK(row[Measure::kProposalKl].value == Approx(proposal));
    } else {
      CHECK(std::isnan(row[Measure::kProposalKl].value));
    }
    CHECK(row.seconds_per_input > 0);
  }
}

TEST_CASE("with an exact lookahead smoothing has no spread, and its proposal no divergence") {
  const ScoredHmm hmm = exact_hmm(5);
  const EvalTable table =
      run(hmm, {kX, kShort, kOne},
          {.configurations = named({"PS", "PS:R", "PS:A", "discrete+lookahead", "PF", "discrete"}),
           .particles = {1, 8},
           .runs = 4});
  for (int particles : {1, 8}) {
    for (const char* name : {"PS", "PS:R", "PS:A", "discrete+lookahead"}) {
      const EvalRow& row = row_of(table, name, particles);
      CHECK(row[Measure::kDeviation].value < 1e-12);
      CHECK(std::abs(row[Measure::kBias].value) < 1e-12);
      CHECK(row[Measure::kRmse].value < 1e-12);
      CHECK(row[Measure::kRatio].value == Approx(1).epsilon(1e-12));
      if (std::string(name).starts_with("PS")) CHECK(row[Measure::kEss].value == Approx(1));
    }
    CHECK(std::abs(row_of(table, "PS", particles)[Measure::kProposalKl].value) < 1e-12);
    for (const char* name : {"PF", "discrete"})
      CHECK(row_of(table, name, particles)[Measure::kDeviation].value > 1e-3);
  }
  CHECK(table.lookahead.inputs == 2);  // not of one step
  CHECK(table.lookahead.deviation.value < 1e-12);
  CHECK(table.lookahead.blind_deviation.value > 1e-3);
}

TEST_CASE("exact draws score what all outcomes of so many draws do on average") {
  const ScoredHmm hmm(6);
  const Truth truth(hmm, kOne);
  const double p = truth.p.at({0});
  const int draws = 3;
  // Over the number k of draws of tag 0.
  double expected_kl = 0, expected_distance = 0, expected_taggings = 0;
  for (int k = 0; k <= draws; ++k) {
    const double ways = k == 0 || k == draws ? 1 : draws;
    const double chance = ways * std::pow(p, k) * std::pow(1 - p, draws - k);
    const double share = k / double{draws};
    if (k > 0) expected_kl += chance * share * std::log2(share / p);
    if (k < draws) expected_kl += chance * (1 - share) * std::log2((1 - share) / (1 - p));
    expected_distance += chance * std::abs(share - p);
    expected_taggings += chance * (k > 0 && k < draws ? 2 : 1);
  }
  for (const int64_t max_taggings : {int64_t{64}, int64_t{0}}) {  // 0: over finite states
    const EvalTable table = run(hmm, {kOne},
                                {.configurations = named({"exact"}),
                                 .particles = {draws},
                                 .runs = 20'000,
                                 .max_taggings = max_taggings});
    CHECK(table.num_finite == (max_taggings == 0 ? 1 : 0));
    const EvalRow& row = table.rows.at(0);
    const auto check = [&](Measure measure, double expected) {
      INFO(measure_table()[static_cast<size_t>(measure)].key);
      CHECK(std::abs(row[measure].value - expected) < 4 * row[measure].error);
      CHECK(row[measure].error < 0.02);
    };
    check(Measure::kKl, expected_kl);
    check(Measure::kMarginals, expected_distance);
    check(Measure::kTaggings, expected_taggings);
    CHECK(row[Measure::kEss].value == Approx(1));
    CHECK(std::isnan(row[Measure::kDeviation].value));  // Z is no estimate there
    CHECK(std::isnan(row[Measure::kRatio].value));
    CHECK(std::isnan(row.seconds_per_input));
  }
}

TEST_CASE("Z is estimated without bias, as the ratio shows over many runs") {
  ScoredHmm hmm(7);
  hmm.set_trans(1, 0, -INFINITY);  // particles may die
  hmm.set_emit(1, 1, -INFINITY);
  const EvalTable table =
      run(hmm, {kX, kShort},
          {.configurations =
               named({"is", "PF", "PF:R", "PF:A", "PS:R", "discrete", "discrete+lookahead"}),
           .particles = {2},
           .runs = 10'000,
           .sampling = {.threads = 1}});
  for (const EvalRow& row : table.rows) {
    INFO(row.configuration.name);
    CHECK(std::abs(row[Measure::kRatio].value - 1) < 4 * row[Measure::kRatio].error);
    CHECK(row[Measure::kRatio].error < 0.15);  // the lookahead is a random one
  }
  // Both particles of the filter walk into the trap at times.
  CHECK(row_of(table, "PF", 2).empty_runs > 100);
  CHECK(row_of(table, "PF", 2).inputs == 2);
  CHECK(row_of(table, "PF", 2)[Measure::kProposalKl].value == INFINITY);
}

TEST_CASE("exact references are one, by enumeration or over finite states") {
  const ScoredHmm hmm(8);
  Experiment experiment{.configurations = named({"PF", "beam+lookahead"}), .particles = {4}};
  const EvalTable enumerated = run(hmm, {kX, kShort}, experiment);
  experiment.max_taggings = 4;  // the short one has so many
  const EvalTable mixed = run(hmm, {kX, kShort}, experiment);
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
  Experiment experiment{.configurations = named({"exact", "PF", "PS", "discrete", "beam"}),
                        .particles = {2, 4},
                        .runs = 3};
  const EvalTable exact = run(hmm, inputs, experiment);
  CHECK(exact.estimated_by.empty());
  CHECK(std::isnan(exact.reference_error.value));
  experiment.max_taggings = 0;
  experiment.max_states = 0;
  experiment.reference_particles = 1024;  // of 4096 and 2048 taggings
  const EvalTable estimated = run(hmm, inputs, experiment);
  CHECK(estimated.num_estimated == 2);
  CHECK(estimated.estimated_by == "4 runs of discrete with M = 1024");
  CHECK(estimated.reference_error.value < 0.02);
  CHECK(estimated.lookahead.inputs == 0);
  for (const EvalRow& row : estimated.rows) {
    INFO(row.configuration.name << ", M = " << row.particles);
    CHECK(row.inputs == 2);
    CHECK(row.references == 2);
    CHECK(row.exact_references == 0);
    const EvalRow& right = row_of(exact, row.configuration.name, row.particles);
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
      .configurations = named({"PF", "discrete+lookahead", "exact"}), .particles = {3}, .runs = 4};
  const EvalTable enumerated = run(hmm, {kX, kShort}, experiment);
  experiment.max_taggings = experiment.max_states = 0;
  experiment.reference_particles = 64;
  const EvalTable whole = run(hmm, {kX, kShort}, experiment);
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
  Experiment experiment{
      .configurations = named({"PF", "PF:R", "PS", "beam"}), .particles = {1, 8}, .runs = 2};
  const EvalTable exact = run(hmm, {x}, experiment);
  experiment.max_taggings = experiment.max_states = 0;
  experiment.reference_particles = 4;  // far too few
  const EvalTable poor = run(hmm, {x}, experiment);
  for (const EvalRow& row : poor.rows) {
    const EvalRow& right = row_of(exact, row.configuration.name, row.particles);
    CHECK(row[Measure::kOffsetKl].value >= 0);
    CHECK(row[Measure::kOffsetKl].value < right[Measure::kKl].value);
    CHECK(row[Measure::kKl].value >= row[Measure::kOffsetKl].value);
    // The offset is one for all.
    CHECK(right[Measure::kKl].value - row[Measure::kOffsetKl].value ==
          Approx(exact.rows[0][Measure::kKl].value - poor.rows[0][Measure::kOffsetKl].value));
  }
}

TEST_CASE("tables are the same to the bit for any threads, batches, memory and parts") {
  ScoredHmm hmm(11);
  std::vector<std::vector<int>> xs;
  for (int i = 0; i < 12; ++i) xs.push_back(random_symbols(kHmmSymbols, i, 5));
  const std::vector<SampleInput> inputs(xs.begin(), xs.end());
  Experiment experiment{.particles = {1, 4}, .runs = 2, .max_taggings = 64};
  for (const int64_t max_states : {int64_t{1} << 20, int64_t{0}}) {
    experiment.max_states = max_states;
    experiment.reference_particles = 64;
    experiment.sampling = {.threads = 1, .batch = 1};
    const EvalTable alone = run(hmm, inputs, experiment);
    experiment.sampling = {.threads = 3, .memory = 1 << 20};
    check_same(alone, run(hmm, inputs, experiment));
    // What else is compared changes nothing but what was found in all, z(x).
    if (max_states == 0) continue;
    experiment.configurations = named({"PS", "exact"});
    experiment.particles = {4};
    const EvalTable few = run(hmm, inputs, experiment);
    for (const char* name : {"PS", "exact"})
      CHECK(row_of(few, name, 4)[Measure::kKl].value == row_of(alone, name, 4)[Measure::kKl].value);
  }
}

TEST_CASE("inputs that fail are counted and told of, and leave the others alone") {
  ScoredHmm hmm(12);
  hmm.set_emit(0, 1, -INFINITY);
  hmm.set_emit(1, 1, -INFINITY);  // the symbol 1 cannot be
  const std::vector<int> bad{0, 7}, impossible{0, 1, 2}, good{0, 2, 2};
  TagSets nothing(1, kHmmTags);
  nothing.allow_only(1, {});
  Experiment experiment{.configurations = named({"PF", "beam"}), .particles = {4}, .runs = 2};
  for (const int64_t max_taggings : {int64_t{64}, int64_t{0}}) {
    for (const int64_t max_states : {int64_t{64}, int64_t{0}}) {
      experiment.max_taggings = max_taggings;
      experiment.max_states = max_states;
      const EvalTable table = run(hmm, {good, bad, impossible, good, {kOne, nothing}}, experiment);
      REQUIRE(table.left_out.size() == 3);
      CHECK(table.left_out[0].input == 1);
      CHECK(table.left_out[0].message == "step 2: the symbol 7 is outside the alphabet of 3");
      CHECK(table.left_out[1].input == 2);
      CHECK(table.left_out[2].input == 4);
      CHECK(table.num_inputs == 5);
      for (const EvalRow& row : table.rows) {
        CHECK(row.inputs == 2);
        CHECK(row.failed_inputs == 0);
        CHECK(std::isfinite(row[Measure::kKl].value));
      }
    }
  }
}

TEST_CASE("one run tells nothing of spread, and one particle is measured like others") {
  const ScoredHmm hmm(13);
  const EvalTable table = run(hmm, {kX, std::vector<int>{}, kOne}, {.particles = {1}, .runs = 1});
  for (const EvalRow& row : table.rows) {
    INFO(row.configuration.name);
    CHECK(std::isnan(row[Measure::kDeviation].value));
    CHECK(row.inputs == 3);
    CHECK(row[Measure::kTaggings].value == 1);
    CHECK(row[Measure::kKl].value > 0);
  }
}

TEST_CASE("a constrained and a tempered p are measured as they are") {
  const ScoredHmm hmm(14);
  const TagSets allowed = some_constraints(static_cast<int>(kX.size()), 2);
  for (double temperature : {0.5, 3.0}) {
    const EvalTable table = run(hmm, {{kX, allowed}},
                                {.configurations = named({"beam", "PF"}),
                                 .particles = {64},
                                 .runs = 200,
                                 .sampling = {.temperature = temperature}});
    const EvalRow& beam = row_of(table, "beam", 64);  // wide enough for all
    CHECK(beam[Measure::kKl].value < 1e-12);
    CHECK(beam[Measure::kMarginals].value < 1e-12);
    CHECK(std::abs(beam[Measure::kBias].value) < 1e-12);
    const EvalRow& filtered = row_of(table, "PF", 64);
    CHECK(std::abs(filtered[Measure::kRatio].value - 1) < 4 * filtered[Measure::kRatio].error);
  }
}

TEST_CASE("an experiment that makes no sense is refused") {
  const ScoredHmm hmm(15), blind(15, hand_hmm_without_proposal());
  CHECK_THROWS_AS(run(hmm, {kX}, {.particles = {}}), Error);
  CHECK_THROWS_AS(run(hmm, {kX}, {.particles = {8, 0}}), Error);
  CHECK_THROWS_AS(run(hmm, {kX}, {.runs = 0}), Error);
  CHECK_THROWS_AS(run(hmm, {kX}, {.max_taggings = -1}), Error);
  CHECK_THROWS_AS(run(hmm, {kX}, {.reference_particles = 0}), Error);
  CHECK_THROWS_WITH(run(blind, {kX}, {.configurations = named({"PF", "PS"})}),
                    "PS needs a lookahead, and the model has no proposal");
  for (const EvalRow& row : run(blind, {kX}, {.particles = {2}, .runs = 1}).rows)
    CHECK(!scry::row_of(row.configuration.method).needs_lookahead());
}

TEST_CASE("JSON and CSV have the same rows, and nothing for what is not known") {
  const ScoredHmm hmm(16);
  const EvalTable table = run(
      hmm, {kX, kShort}, {.configurations = named({"exact", "PS", "beam"}), .particles = {2, 3}});
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
