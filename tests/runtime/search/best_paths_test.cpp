#include "runtime/search/best_paths.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

/// With the score of what is left from each step on, as added from the right.
struct Ranked {
  std::vector<int> y;
  std::vector<double> to_go;

  Ranked(const ScoredHmm& hmm, const std::vector<int>& x, const std::vector<int>& y)
      : y(y), to_go(y.size() + 1, 0.0) {
    for (size_t t = y.size(); t-- > 0;) {
      const int before = t == 0 ? kHmmTags : y[t - 1];
      to_go[t] = to_go[t + 1] + (hmm.trans()[static_cast<size_t>(before * kHmmTags + y[t])] +
                                 hmm.emit()[static_cast<size_t>(y[t] * kHmmSymbols + x[t])]);
    }
  }
  /// The documented order.
  bool operator<(const Ranked& other) const {
    for (size_t t = 0; t < y.size(); ++t) {
      if (to_go[t] != other.to_go[t]) return to_go[t] > other.to_go[t];
      if (y[t] != other.y[t]) return y[t] < other.y[t];
    }
    return false;
  }
};

std::vector<Ranked> sorted(const ScoredHmm& hmm, const std::vector<int>& x,
                           const TagSets& allowed) {
  std::vector<Ranked> all;
  for (const auto& [y, score] : all_scores(hmm, x, allowed)) {
    if (score > -INFINITY) all.emplace_back(hmm, x, y);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("the k best taggings are the first of all, sorted, each with its probability") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    ScoredHmm hmm(seed);
    if (seed % 2 == 0) hmm.set_trans(1, 0, -INFINITY);
    for (int length : {1, 2, 3, 7}) {
      const std::vector<int> x = random_input(hmm.program.task, length, seed);
      for (const TagSets& allowed : {TagSets(), some_constraints(length, seed)}) {
        const std::vector<Ranked> expected = sorted(hmm, x, allowed);
        if (expected.empty()) continue;
        const double log_z = log_total(all_scores(hmm, x, allowed));
        for (const int64_t k : {1, 2, 5, 1000}) {
          const std::vector<Best> best = k_best(hmm.program, hmm.parameters, {x, allowed}, k);
          REQUIRE(best.size() == std::min(static_cast<size_t>(k), expected.size()));
          for (size_t i = 0; i < best.size(); ++i) {
            CHECK(ints(best[i].tags) == expected[i].y);
            CHECK(std::abs(best[i].log_score - expected[i].to_go[0]) < 1e-12);
            CHECK(std::abs(*best[i].log_probability() - (expected[i].to_go[0] - log_z)) < 1e-12);
            CHECK(best[i].optimal);
          }
        }
      }
    }
  }
}

TEST_CASE("taggings of equal score come in the order of their tags") {
  ScoredHmm hmm(1);
  hmm.parameters.values.clear();
  const std::vector<int> x{0, 1, 2, 0};
  const std::vector<Best> best = k_best(hmm.program, hmm.parameters, {x}, 100);
  const std::vector<std::vector<int>> all = all_taggings(kHmmTags, 4);
  REQUIRE(best.size() == all.size());
  for (size_t i = 0; i < all.size(); ++i) CHECK(ints(best[i].tags) == all[i]);
}

TEST_CASE("the best of a long sequence are different, in order, and those of a longer list") {
  const ScoredHmm hmm(3);
  const std::vector<int> x = random_input(hmm.program.task, 3000, 2);
  const std::vector<Best> best = k_best(hmm.program, hmm.parameters, {x}, 50);
  REQUIRE(best.size() == 50);
  CHECK(best.front().tags == viterbi(hmm.program, hmm.parameters, {x}).tags);
  for (size_t i = 1; i < best.size(); ++i) {
    CHECK(best[i].log_score <= best[i - 1].log_score + 1e-9);
    for (size_t j = 0; j < i; ++j) CHECK(best[i].tags != best[j].tags);
  }
  const std::vector<Best> fewer = k_best(hmm.program, hmm.parameters, {x}, 20);
  for (size_t i = 0; i < fewer.size(); ++i) CHECK(fewer[i].tags == best[i].tags);
}

TEST_CASE("the empty sequence has one best tagging") {
  const ScoredHmm hmm(1);
  const std::vector<Best> best = k_best(hmm.program, hmm.parameters, {}, 3);
  REQUIRE(best.size() == 1);
  CHECK(*best.front().log_probability() == 0);
}
