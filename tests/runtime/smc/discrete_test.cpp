#include "runtime/smc/discrete.h"

#include <Eigen/Core>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/smc/interpreter.h"
#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

const std::vector<int> kX{2, 0, 1, 1, 2, 0};
const Method kBoth[] = {Method::kDiscrete, Method::kDiscreteAhead};

/// The lookahead forbids tag 1 after symbols 1, whatever the model says.
void blind_extend(const KernelCall* call) {
  static const Kernel clean = hand_hmm().extend.forward;
  clean.run(call);
  for (int64_t row = 0; row < call->num_rows; ++row) {
    if (static_cast<const int32_t*>(call->args[3])[call->position_of_row[row]] == 1)
      static_cast<double*>(call->args[7])[row * kHmmTags + 1] = -INFINITY;
  }
}
/// No tag has a score above -∞ on symbol 2.
void dead_score(const KernelCall* call) {
  static const Kernel clean = hand_hmm().score.forward;
  clean.run(call);
  for (int64_t row = 0; row < call->num_rows; ++row) {
    if (static_cast<const int32_t*>(call->args[3])[call->position_of_row[row]] != 2) continue;
    for (int64_t tag = 0; tag < kHmmTags; ++tag)
      static_cast<double*>(call->args[4])[row * kHmmTags + tag] = -INFINITY;
  }
}

struct Tally {
  double sum = 0, squares = 0;
  int count = 0;
  void add(double value) { sum += value, squares += value * value, ++count; }
  double mean() const { return sum / count; }
  double standard_error() const {
    return std::sqrt(std::max(0.0, squares / count - mean() * mean()) / count);
  }
};

/// The mean of Ẑ / Z is 1, and those of Ẑ p̂(y_t = tag) / Z are p(y_t = tag).
void check_unbiased(const Program& program, const Parameters& parameters, const SampleInput& input,
                    SampleOptions options, int num_runs) {
  const Ensemble all = enumerate(program, parameters, input, {.temperature = options.temperature});
  const RealMatrix<double> exact = all.tag_marginals(kHmmTags);
  Tally total;
  std::vector<Tally> marginals(static_cast<size_t>(exact.size()));
  const std::vector<SampleInput> inputs(static_cast<size_t>(num_runs), input);
  for (const Outcome& outcome : sample(program, parameters, inputs, options)) {
    const Ensemble& run = outcome.value();
    REQUIRE(run.size() <= static_cast<size_t>(options.particles));
    std::set<std::vector<int32_t>> different;
    for (size_t i = 0; i < run.size(); ++i)
      different.emplace(run.sequence(i).begin(), run.sequence(i).end());
    CHECK(different.size() == run.size());
    const double ratio = std::exp(run.log_z - all.log_z);
    total.add(ratio);
    const RealMatrix<double> found = run.tag_marginals(kHmmTags);
    for (Eigen::Index k = 0; k < exact.size(); ++k)
      marginals[static_cast<size_t>(k)].add(ratio * found.data()[k]);
  }
  CHECK(std::abs(total.mean() - 1) <= 4 * total.standard_error() + 1e-12);
  for (Eigen::Index k = 0; k < exact.size(); ++k) {
    const Tally& tally = marginals[static_cast<size_t>(k)];
    // Rarer ones are met by too few runs for their standard error to be one.
    if (exact.data()[k] > 0 && exact.data()[k] < 0.01) continue;
    CHECK(std::abs(tally.mean() - exact.data()[k]) <= 4.5 * tally.standard_error() + 1e-12);
  }
}

}  // namespace

TEST_CASE("a discrete set with room for all taggings is the enumeration, and exact") {
  const ScoredHmm hmm(5);
  const Ensemble all = enumerate(hmm.program, hmm.parameters, kX);
  for (Method method : kBoth) {
    for (int particles : {64, 1000}) {
      const Ensemble set =
          discrete(hmm.program, hmm.parameters, kX, {.method = method, .particles = particles});
      CHECK(set.tags == all.tags);
      CHECK(set.log_scores == all.log_scores);
      CHECK(set.log_z == Approx(all.log_z).epsilon(1e-13));
      CHECK(set.certainty == Certainty::kExact);
      CHECK(set.log_z_error == 0.0);
      CHECK(!set.has_counts());
      CHECK(set.info.particles == particles);
    }
  }
}

TEST_CASE("a discrete set is unbiased, in Z and in the weight of every tag") {
  const ScoredHmm hmm(5);
  for (Method method : kBoth) {
    for (int particles : {1, 2, 3, 8, 30}) {
      INFO("M = " << particles << ", method " << static_cast<int>(method));
      check_unbiased(hmm.program, hmm.parameters, kX, {.method = method, .particles = particles},
                     10'000);
    }
    check_unbiased(hmm.program, hmm.parameters, kX,
                   {.method = method, .particles = 3, .temperature = 0.4}, 10'000);
    TagSets allowed(6, kHmmTags);
    allowed.forbid(2, 0);
    allowed.allow_only(5, {0});
    check_unbiased(hmm.program, hmm.parameters, {kX, allowed}, {.method = method, .particles = 3},
                   10'000);
  }
}

TEST_CASE("of children that weigh the same, each prefix keeps one, and all tags as often") {
  // Else equal prefixes would end or branch by chance, and one tag would be chosen for all.
  constexpr int kTags = 4, kParticles = 64;
  const std::vector<int> x(8, 0);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Discrete set({.method = Method::kDiscrete, .particles = kParticles, .seed = seed},
                 SampleInput(x), 0);
    std::vector<Child> children;
    size_t num_rows = 1;
    for (int step = 1; step < 8; ++step) {
      const std::vector<double> scores(num_rows * kTags, -1.5), zeros(num_rows, 0.0);
      set.begin(step);
      set.propose({.num_tags = kTags,
                   .scores = scores,
                   .compats = {},
                   .row_scores = zeros,
                   .row_compats = zeros});
      children.clear();
      set.select(children);
      REQUIRE(children.size() == std::min<size_t>(num_rows * kTags, kParticles));
      std::set<int64_t> rows;
      std::vector<int> tags(kTags, 0);
      for (const Child& child : children) {
        rows.insert(child.row);
        ++tags[static_cast<size_t>(child.tag)];
      }
      CHECK(rows.size() == num_rows);
      const int expected = static_cast<int>(children.size()) / kTags;
      for (const int count : tags) CHECK(std::abs(count - expected) <= 2);
      num_rows = children.size();
    }
  }
}

TEST_CASE("a discrete set that leaves out light prefixes is unbiased, and smaller") {
  const ScoredHmm hmm(5);
  for (Method method : kBoth) {
    const auto num_rows = [&](double tolerance) {
      const SampleOptions options{.method = method, .particles = 16, .tolerance = tolerance};
      return sample(hmm.program, hmm.parameters, kX, options).num_rows();
    };
    CHECK(num_rows(0) == 1 + 2 + 4 + 8 + 16 + 16);
    CHECK(num_rows(1) < num_rows(0.2));
    CHECK(num_rows(0.2) < num_rows(0));
    for (const double tolerance : {0.2, 1.0}) {
      for (int particles : {2, 8, 30}) {
        INFO("M = " << particles << ", tolerance " << tolerance);
        check_unbiased(hmm.program, hmm.parameters, kX,
                       {.method = method, .particles = particles, .tolerance = tolerance}, 10'000);
      }
    }
    // At the end a place costs nothing.
    CHECK(sample(hmm.program, hmm.parameters, kX,
                 {.method = method, .particles = 16, .tolerance = 0.2})
              .size() == 16);
  }
  ScoredHmm blind(5);
  blind.program.extend.forward.run = blind_extend;
  check_unbiased(blind.program, blind.parameters, kX,
                 {.method = Method::kDiscreteAhead, .particles = 8, .tolerance = 1}, 10'000);
}

TEST_CASE("with an exact lookahead a discrete set has Z exactly, in every run and for every M") {
  const ScoredHmm hmm = exact_hmm(7);
  const double log_z = enumerate(hmm.program, hmm.parameters, kX).log_z;
  const std::vector<SampleInput> inputs(50, SampleInput{kX});
  for (int particles : {1, 2, 3, 8, 33, 63}) {
    for (const double tolerance : {0.0, 0.05, 1.0}) {
      for (const Outcome& run : sample(
               hmm.program, hmm.parameters, inputs,
               {.method = Method::kDiscreteAhead, .particles = particles, .tolerance = tolerance}))
        CHECK(std::abs(run.value().log_z - log_z) <= 1e-12);
    }
  }
}

TEST_CASE("a discrete set is unbiased also where the lookahead wrongly says that nothing follows") {
  ScoredHmm hmm(5);
  hmm.program.extend.forward.run = blind_extend;
  for (int particles : {2, 3, 8, 30}) {
    INFO("M = " << particles);
    check_unbiased(hmm.program, hmm.parameters, kX,
                   {.method = Method::kDiscreteAhead, .particles = particles}, 10'000);
  }
  const Ensemble all = enumerate(hmm.program, hmm.parameters, kX);
  CHECK(discrete(hmm.program, hmm.parameters, kX, {.particles = 64}).tags == all.tags);
  // A single one has no place for what it is told to pass over.
  CHECK(discrete(hmm.program, hmm.parameters, kX, {.particles = 1}).size() == 1);
}

TEST_CASE("a lookahead that rightly says that nothing follows stays exact") {
  ScoredHmm hmm(7);
  hmm.set_trans(0, 1, -INFINITY);
  hmm.set_emit(0, 2, -INFINITY);  // so tag 0 leads nowhere if 2 comes next
  hmm.copy_to_lookahead();
  const std::vector<int> x{0, 1, 0, 2, 1, 0};
  const double log_z = hmm_log_total(hmm.trans(), hmm.emit(), x);
  for (int particles : {1, 2, 3, 5}) {
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      const Ensemble run =
          discrete(hmm.program, hmm.parameters, x, {.particles = particles, .seed = seed});
      CHECK(std::abs(run.log_z - log_z) <= 1e-12);
    }
  }
}

TEST_CASE("a discrete set says what it is worth, and several runs more") {
  const ScoredHmm hmm(5);
  const double log_z = enumerate(hmm.program, hmm.parameters, kX).log_z;
  for (Method method : kBoth) {
    const Ensemble set =
        sample(hmm.program, hmm.parameters, kX, {.method = method, .particles = 4});
    CHECK(set.size() == 4);
    CHECK(set.certainty == Certainty::kUnknown);
    CHECK(!set.log_z_error);
    CHECK(set.caution.find("--runs") != std::string::npos);
    CHECK(log_sum_exp(set.log_weights) == Approx(set.log_z).epsilon(1e-12));
    REQUIRE(set.steps.size() == kX.size());
    const int64_t rows[] = {1, 2, 4, 4, 4, 4};
    for (size_t t = 0; t < 6; ++t) {
      CHECK(set.steps[t].num_rows == rows[t]);
      CHECK(set.steps[t].ess > 0.99);
      CHECK(set.steps[t].ess <= 4 + 1e-12);
    }
    CHECK(set.ess() == Approx(set.steps.back().ess));
    const auto json = nlohmann::json::parse(to_json(set, hmm.program.task));
    CHECK(json["method"] == "discrete");
    CHECK(json["particles"] == 4);
    CHECK(json["log_z_error"].is_null());
    CHECK(json["log_z_status"] == "unknown");

    // The scatter of runs is an error bar, at its nominal rate.
    int held = 0;
    constexpr int kTimes = 400;
    for (uint64_t seed = 1; seed <= kTimes; ++seed) {
      const SampleInput input{kX};
      const Ensemble pooled =
          sample_runs(hmm.program, hmm.parameters, std::span(&input, 1),
                      {.method = method, .particles = 4, .seed = 1000 * seed, .threads = 1}, 20)[0]
              .value();
      REQUIRE(pooled.log_z_error);
      CHECK(!pooled.has_counts());
      held += std::abs(pooled.log_z - log_z) <= 1.96 * *pooled.log_z_error ? 1 : 0;
    }
    // 95 %, known to 4 · √(0.05 · 0.95 / 400) = 4.4 %.
    CHECK(held >= 0.906 * kTimes);
  }
}

TEST_CASE("a discrete set is recorded for training with the weights that it ends with") {
  const ScoredHmm hmm(5);
  const SampleInput input{kX};
  for (Method method : kBoth) {
    const SampleOptions options{.method = method, .particles = 5};
    std::vector<Outcome> outcomes(1);
    const Job job{&input, 0, outcomes.data()};
    Recording recording(hmm.program, true);
    Interpreter(hmm.program, hmm.parameters, options).run(std::span(&job, 1), &recording);
    const Ensemble set = sample(hmm.program, hmm.parameters, input, options);
    REQUIRE(recording.finals.size() == 5);
    std::vector<double> log_weights;
    for (const Recording::Final& final : recording.finals) {
      CHECK(final.count == 1);
      log_weights.push_back(final.log_weight);
      std::vector<int32_t> y(kX.size());
      recording.forest.write_prefix(final.row, y);
      CHECK(recording.forest.log_score(final.row) ==
            Approx(hmm.score(kX, {y.begin(), y.end()})).epsilon(1e-12));
    }
    std::sort(log_weights.rbegin(), log_weights.rend());
    CHECK(log_weights == set.log_weights);
  }
}

TEST_CASE("a discrete set without any candidate is an error of its sequence and step") {
  ScoredHmm hmm(5);
  hmm.program.score.forward.run = dead_score;
  const std::vector<int> good{1, 0, 1, 0}, bad{0, 1, 2, 1};
  const std::vector<SampleInput> inputs{good, bad};
  const std::vector<Outcome> outcomes =
      sample(hmm.program, hmm.parameters, inputs, {.method = Method::kDiscrete, .particles = 3});
  CHECK(outcomes[0].value().size() == 3);
  REQUIRE(outcomes[1].error);
  CHECK(outcomes[1].error->trouble() == Trouble::kNoMass);
  CHECK(outcomes[1].error->step() == 3);
}
