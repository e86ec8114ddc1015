#include "runtime/eval/experiment.h"

#include "runtime/smc/metrics.h"
#include "tests/catch.h"
#include "tests/support/eval_experiments.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::vector<int> kX{2, 0, 1, 1, 2, 0}, kShort{1, 2}, kOne{0};

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
  const EvalTable table = run_experiment(
      hmm, inputs,
      {.configurations = configurations_named(
           {"PS", "PF:R", "beam", "discrete", "PS:A", "discrete+lookahead+score", "PF+score"}),
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
  const EvalTable table = run_experiment(
      hmm, {kX, kShort, kOne},
      {.configurations =
           configurations_named({"PS", "PS:R", "PS:A", "discrete+lookahead", "PF", "discrete"}),
       .particles = {1, 8},
       .runs = 4});
  for (int particles : {1, 8}) {
    for (const char* name : {"PS", "PS:R", "PS:A", "discrete+lookahead"}) {
      const EvalRow& row = find_row(table, name, particles);
      CHECK(row[Measure::kDeviation].value < 1e-12);
      CHECK(std::abs(row[Measure::kBias].value) < 1e-12);
      CHECK(row[Measure::kRmse].value < 1e-12);
      CHECK(row[Measure::kRatio].value == Approx(1).epsilon(1e-12));
      if (std::string(name).starts_with("PS")) CHECK(row[Measure::kEss].value == Approx(1));
    }
    CHECK(std::abs(find_row(table, "PS", particles)[Measure::kProposalKl].value) < 1e-12);
    for (const char* name : {"PF", "discrete"})
      CHECK(find_row(table, name, particles)[Measure::kDeviation].value > 1e-3);
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
    const EvalTable table = run_experiment(hmm, {kOne},
                                           {.configurations = configurations_named({"exact"}),
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
      run_experiment(hmm, {kX, kShort},
                     {.configurations = configurations_named(
                          {"is", "PF", "PF:R", "PF:A", "PS:R", "discrete", "discrete+lookahead"}),
                      .particles = {2},
                      .runs = 10'000,
                      .sampling = {.threads = 1}});
  for (const EvalRow& row : table.rows) {
    INFO(row.configuration.name);
    CHECK(std::abs(row[Measure::kRatio].value - 1) < 4 * row[Measure::kRatio].error);
    CHECK(row[Measure::kRatio].error < 0.15);  // the lookahead is a random one
  }
  // Both particles of the filter walk into the trap at times.
  CHECK(find_row(table, "PF", 2).empty_runs > 100);
  CHECK(find_row(table, "PF", 2).inputs == 2);
  CHECK(find_row(table, "PF", 2)[Measure::kProposalKl].value == INFINITY);
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
    const EvalTable alone = run_experiment(hmm, inputs, experiment);
    experiment.sampling = {.threads = 3, .memory = 1 << 20};
    check_same(alone, run_experiment(hmm, inputs, experiment));
    // What else is compared changes nothing but what was found in all, z(x).
    if (max_states == 0) continue;
    experiment.configurations = configurations_named({"PS", "exact"});
    experiment.particles = {4};
    const EvalTable few = run_experiment(hmm, inputs, experiment);
    for (const char* name : {"PS", "exact"})
      CHECK(find_row(few, name, 4)[Measure::kKl].value ==
            find_row(alone, name, 4)[Measure::kKl].value);
  }
}

TEST_CASE("one run tells nothing of spread, and one particle is measured like others") {
  const ScoredHmm hmm(13);
  const EvalTable table =
      run_experiment(hmm, {kX, std::vector<int>{}, kOne}, {.particles = {1}, .runs = 1});
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
    const EvalTable table = run_experiment(hmm, {{kX, allowed}},
                                           {.configurations = configurations_named({"beam", "PF"}),
                                            .particles = {64},
                                            .runs = 200,
                                            .sampling = {.temperature = temperature}});
    const EvalRow& beam = find_row(table, "beam", 64);  // wide enough for all
    CHECK(beam[Measure::kKl].value < 1e-12);
    CHECK(beam[Measure::kMarginals].value < 1e-12);
    CHECK(std::abs(beam[Measure::kBias].value) < 1e-12);
    const EvalRow& filtered = find_row(table, "PF", 64);
    CHECK(std::abs(filtered[Measure::kRatio].value - 1) < 4 * filtered[Measure::kRatio].error);
  }
}

TEST_CASE("an experiment that makes no sense is refused") {
  const ScoredHmm hmm(15), blind(15, hand_hmm_without_proposal());
  CHECK_THROWS_AS(run_experiment(hmm, {kX}, {.particles = {}}), Error);
  CHECK_THROWS_AS(run_experiment(hmm, {kX}, {.particles = {8, 0}}), Error);
  CHECK_THROWS_AS(run_experiment(hmm, {kX}, {.runs = 0}), Error);
  CHECK_THROWS_AS(run_experiment(hmm, {kX}, {.max_taggings = -1}), Error);
  CHECK_THROWS_AS(run_experiment(hmm, {kX}, {.reference_particles = 0}), Error);
  CHECK_THROWS_WITH(
      run_experiment(blind, {kX}, {.configurations = configurations_named({"PF", "PS"})}),
      "PS needs a lookahead, and the model has no proposal");
  for (const EvalRow& row : run_experiment(blind, {kX}, {.particles = {2}, .runs = 1}).rows)
    CHECK(!row_of(row.configuration.method).needs_lookahead());
}
