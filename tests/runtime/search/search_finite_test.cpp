// Dynamic programming over finite states.
#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/search/search.h"
#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

/// The total variation between draws and exp(score / temperature) / Z.
double total_variation(const Ensemble& ensemble, const std::map<std::vector<int>, double>& scores,
                       double temperature) {
  std::map<std::vector<int>, double> left;
  for (const auto& [y, score] : scores)
    left[y] = std::exp(score / temperature - log_total(scores, temperature));
  for (size_t i = 0; i < ensemble.size(); ++i) {
    const auto y = ensemble.sequence(i);
    left[{y.begin(), y.end()}] -= ensemble.counts[i] / static_cast<double>(ensemble.info.particles);
  }
  double total = 0;
  for (const auto& [y, difference] : left) total += std::abs(difference) / 2;
  return total;
}
/// By Cauchy and Schwarz E[TV] ≤ ½√(K/M), and one draw moves TV by at most 1/M, so that by
/// McDiarmid it is above this with a probability of at most 10⁻⁹.
double variation_bound(size_t num_outcomes, int draws) {
  return 0.5 * std::sqrt(static_cast<double>(num_outcomes) / draws) +
         std::sqrt(std::log(1e9) / (2.0 * draws));
}

/// The HMM with two more integers in its state: minus the number of tags 1, and a constant.
Program counting_hmm(int64_t lowest, int64_t range) {
  Program program = hand_hmm_without_proposal();
  program.state.push_back({"minus", Type::integer(lowest, lowest + range)});
  program.state.push_back({"constant", Type::integer(0, range)});
  const auto add = [](Kernel& kernel, const char* name, SlotRole role, Axes axes) {
    kernel.slots.push_back({name, role, Kind::kInt, axes, {}});
  };
  Kernel& start = program.start.forward;
  add(start, "s.minus", SlotRole::kOutput, Axes::sequence());
  add(start, "s.constant", SlotRole::kOutput, Axes::sequence());
  start.run = [](const KernelCall* call) {
    for (int64_t q = 0; q < call->num_sequences; ++q) {
      static_cast<int32_t*>(call->args[0])[q] = kHmmTags;
      static_cast<int32_t*>(call->args[1])[q] = 0;
      static_cast<int32_t*>(call->args[2])[q] = 7;
    }
  };
  Kernel& advance = program.advance.forward;
  add(advance, "s.minus", SlotRole::kInput, Axes::prefix());
  add(advance, "next.minus", SlotRole::kOutput, Axes::prefix());
  add(advance, "next.constant", SlotRole::kOutput, Axes::prefix());
  advance.run = [](const KernelCall* call) {
    static const KernelFn hmm = hand_hmm().advance.forward.run;
    hmm(call);
    for (int64_t r = 0; r < call->num_rows; ++r) {
      static_cast<int32_t*>(call->args[3])[r] =
          static_cast<int32_t*>(call->args[2])[r] - static_cast<int32_t*>(call->args[0])[r];
      static_cast<int32_t*>(call->args[4])[r] = 7;
    }
  };
  return program;
}

}  // namespace

TEST_CASE("viterbi finds the maximum of all taggings") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const ScoredHmm hmm(seed);
    for (int length = 1; length <= 8; ++length) {
      const std::vector<int> x = random_input(hmm.program.task, length, seed);
      const Best best = viterbi(hmm.program, hmm.parameters, {x});
      CHECK(best.log_score == Approx(max_score(all_scores(hmm, x))));
      CHECK(best.log_score == Approx(hmm.score(x, ints(best.tags))));
      CHECK(best.optimal);
      CHECK(best.why.empty());
      CHECK(best.num_rows == 1 + (length - 1) * kHmmTags);
    }
  }
}

TEST_CASE("viterbi finds the maximum of the taggings that constraints allow") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const ScoredHmm hmm(seed);
    for (int length = 1; length <= 8; ++length) {
      const std::vector<int> x = random_input(hmm.program.task, length, seed);
      const TagSets allowed = some_constraints(length, seed);
      const Best best = viterbi(hmm.program, hmm.parameters, {x, allowed});
      CHECK(best.log_score == Approx(max_score(all_scores(hmm, x, allowed))));
      CHECK(best.log_score == Approx(hmm.score(x, ints(best.tags))));
      CHECK(is_allowed(allowed, ints(best.tags)));
    }
  }
}

TEST_CASE("of tied taggings viterbi finds the lexicographically smallest") {
  ScoredHmm hmm(1);
  hmm.parameters.values.clear();
  const std::vector<int> x{0, 1, 2, 0};
  CHECK(viterbi(hmm.program, hmm.parameters, {x}).tags == std::vector<int32_t>{0, 0, 0, 0});
  TagSets allowed(4, kHmmTags);
  allowed.forbid(2, 0);
  CHECK(viterbi(hmm.program, hmm.parameters, {x, allowed}).tags ==
        std::vector<int32_t>{0, 1, 0, 0});
  hmm.set_trans(0, 0, -1);  // 0101 = 1010 = 1110 = … > 0010
  CHECK(viterbi(hmm.program, hmm.parameters, {x}).tags == std::vector<int32_t>{0, 1, 0, 1});
}

TEST_CASE("the exact log Z is that of enumeration") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const ScoredHmm hmm(seed);
    for (int length = 1; length <= 8; ++length) {
      const std::vector<int> x = random_input(hmm.program.task, length, seed);
      const Ensemble all = sample_finite(hmm.program, hmm.parameters, {x}, {.particles = 1});
      CHECK(all.log_z == Approx(hmm_log_total(hmm.trans(), hmm.emit(), x)));
      const TagSets allowed = some_constraints(length, seed);
      const Ensemble some =
          sample_finite(hmm.program, hmm.parameters, {x, allowed}, {.particles = 1});
      CHECK(some.log_z == Approx(log_total(all_scores(hmm, x, allowed))));
    }
  }
}

TEST_CASE("exact draws come from the posterior, at any temperature and under constraints") {
  const ScoredHmm hmm(3);
  const std::vector<int> x{2, 0, 1, 1};
  const int draws = 20000;
  for (const double temperature : {0.5, 1.0, 3.0}) {
    for (const TagSets& allowed : {TagSets(), some_constraints(4, 2)}) {
      const auto scores = all_scores(hmm, x, allowed);
      const Ensemble ensemble =
          sample_finite(hmm.program, hmm.parameters, {x, allowed},
                        {.particles = draws, .temperature = temperature, .seed = 9});
      CHECK(ensemble.log_z == Approx(log_total(scores, temperature)));
      CHECK(total_variation(ensemble, scores, temperature) <=
            variation_bound(scores.size(), draws));
      for (size_t i = 0; i < ensemble.size(); ++i)
        CHECK(ensemble.log_scores[i] == Approx(hmm.score(x, ints(ensemble.sequence(i)))));
    }
  }
}

TEST_CASE("an exact ensemble is merged, in order, and says how it was made") {
  const ScoredHmm hmm(4);
  const std::vector<int> x{1, 0, 2};
  const Ensemble ensemble =
      sample_finite(hmm.program, hmm.parameters, {x},
                    {.particles = 50, .temperature = 2, .seed = 8, .first_sequence = 6});
  CHECK(ensemble.info.method == "exact");
  CHECK(ensemble.info.particles == 50);
  CHECK(ensemble.info.temperature == 2);
  CHECK(ensemble.info.seed == 8);
  CHECK(ensemble.info.sequence == 6);
  CHECK(ensemble.length == 3);
  CHECK(ensemble.log_z_error == 0.0);
  REQUIRE(ensemble.steps.size() == 3);
  for (size_t t = 0; t < 3; ++t) {
    CHECK(ensemble.steps[t].ess == 50);
    CHECK(ensemble.steps[t].num_rows == (t == 0 ? 1 : kHmmTags));
    CHECK_FALSE(ensemble.steps[t].resampled);
  }
  CHECK(log_sum_exp(ensemble.log_weights) == Approx(ensemble.log_z));
  int total = 0;
  for (size_t i = 0; i < ensemble.size(); ++i) {
    total += ensemble.counts[i];
    CHECK(ensemble.log_weights[i] == Approx(std::log(ensemble.counts[i] / 50.0) + ensemble.log_z));
    if (i == 0) continue;
    const bool in_order = ensemble.counts[i - 1] > ensemble.counts[i] ||
                          (ensemble.counts[i - 1] == ensemble.counts[i] &&
                           ints(ensemble.sequence(i - 1)) < ints(ensemble.sequence(i)));
    CHECK(in_order);
  }
  CHECK(total == 50);
}

TEST_CASE(
    "a draw depends on the seed, the sequence's number and its own, not on how many there are") {
  const ScoredHmm hmm(5);
  const std::vector<int> x{1, 0, 2, 2, 1, 0};
  const auto counts = [&](SampleOptions options) {
    const Ensemble ensemble = sample_finite(hmm.program, hmm.parameters, {x}, options);
    std::map<std::vector<int>, int> result;
    for (size_t i = 0; i < ensemble.size(); ++i)
      result[ints(ensemble.sequence(i))] = ensemble.counts[i];
    return result;
  };
  auto many = counts({.particles = 40});
  CHECK(many == counts({.particles = 40}));
  CHECK(many != counts({.particles = 40, .seed = 2}));
  CHECK(many != counts({.particles = 40, .first_sequence = 1}));
  for (const auto& [y, count] : counts({.particles = 20})) CHECK(many[y] >= count);
}

TEST_CASE("the empty sequence has one tagging, of score 0") {
  const ScoredHmm hmm(6);
  for (const Best& best : {viterbi(hmm.program, hmm.parameters, {}),
                           search_best_first(hmm.program, hmm.parameters, {})}) {
    CHECK(best.tags.empty());
    CHECK(best.log_score == 0);
    CHECK(best.optimal);
  }
  const Ensemble ensemble = sample_finite(hmm.program, hmm.parameters, {}, {.particles = 5});
  CHECK(ensemble.size() == 1);
  CHECK(ensemble.counts == std::vector<int32_t>{5});
  CHECK(ensemble.log_z == 0);
  CHECK(ensemble.log_weights == std::vector<double>{0.0});
  CHECK(ensemble.steps.empty());
}

TEST_CASE("states are merged exactly if they are equal, however wide their integers range") {
  for (const int64_t range : {int64_t{10}, int64_t{1} << 32}) {  // 64 bits hold the first only
    const ScoredHmm counting(7, counting_hmm(1 - range, range)), plain(7);
    for (int length = 1; length <= 8; ++length) {
      const std::vector<int> x = random_input(plain.program.task, length, 3);
      const Best best = viterbi(counting.program, counting.parameters, {x});
      CHECK(best.tags == viterbi(plain.program, plain.parameters, {x}).tags);
      CHECK(best.num_rows == 1 + length * (length - 1));  // 2t states (y_t, number of tags 1)
      CHECK(sample_finite(counting.program, counting.parameters, {x}).log_z ==
            Approx(hmm_log_total(plain.trans(), plain.emit(), x)));
    }
  }
}

TEST_CASE("a state outside its range is not merged with another") {
  const ScoredHmm counting(7, counting_hmm(-1, 8));  // no room for two tags 1
  const std::vector<int> x{0, 0, 0};
  CHECK_THROWS_WITH(viterbi(counting.program, counting.parameters, {x}),
                    "the state's 'minus' is -2, outside its range from -1 to 6");
}

TEST_CASE("states are finite if they are all integers") {
  Program program = hand_hmm();
  CHECK(has_finite_states(program));
  program.state.push_back({"h", Type::real({3})});
  CHECK_FALSE(has_finite_states(program));
  program.state.clear();
  CHECK(has_finite_states(program));
}

TEST_CASE("prefixes of score -∞ take no part, and dead ends are never drawn") {
  ScoredHmm hmm = exact_hmm(8);
  hmm.set_emit(0, 1, -INFINITY);   // the symbol 1 is always tagged 1
  hmm.set_trans(0, 1, -INFINITY);  // and not after a 0
  hmm.copy_to_lookahead();
  const std::vector<int> x{0, 2, 1, 0};
  const auto scores = all_scores(hmm, x);
  const Best best = viterbi(hmm.program, hmm.parameters, {x});
  CHECK(best.log_score == Approx(max_score(scores)));
  CHECK(search_best_first(hmm.program, hmm.parameters, {x}).tags == best.tags);
  const Ensemble ensemble = sample_finite(hmm.program, hmm.parameters, {x}, {.particles = 500});
  CHECK(ensemble.log_z == Approx(log_total(scores)));
  for (double score : ensemble.log_scores) CHECK(score > -INFINITY);
}
