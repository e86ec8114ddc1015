// Best-first search.
#include "runtime/search/search.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

TEST_CASE("best-first search with the exact lookahead is optimal, with constraints and without") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const ScoredHmm hmm = exact_hmm(seed);
    for (int length = 1; length <= 8; ++length) {
      const std::vector<int> x = random_input(hmm.program.task, length, seed);
      for (const TagSets& allowed : {TagSets(), some_constraints(length, seed)}) {
        const Best best = search_best_first(hmm.program, hmm.parameters, {x, allowed});
        CHECK(best.optimal);
        CHECK(best.why.empty());
        CHECK(best.log_score == Approx(max_score(all_scores(hmm, x, allowed))));
        CHECK(best.log_score == Approx(hmm.score(x, ints(best.tags))));
        CHECK(is_allowed(allowed, ints(best.tags)));
        CHECK(best.num_rows >= length);
      }
    }
  }
}

TEST_CASE("a learned lookahead makes best-first search heuristic") {
  const ScoredHmm hmm(9);
  for (int length = 1; length <= 8; ++length) {
    const std::vector<int> x = random_input(hmm.program.task, length, 4);
    const Best best = search_best_first(hmm.program, hmm.parameters, {x});
    CHECK_FALSE(best.optimal);
    CHECK(best.why == "the lookahead is learned, so it is no bound");
    CHECK(best.log_score == Approx(hmm.score(x, ints(best.tags))));
  }
}

TEST_CASE("a lookahead that is seen to be no bound makes best-first search heuristic") {
  ScoredHmm hmm = exact_hmm(10);
  for (int symbol = 0; symbol < kHmmSymbols; ++symbol) {
    for (int tag = 0; tag < kHmmTags; ++tag) hmm.set_emit(tag, symbol, symbol == 2 ? 5 : -1);
  }
  const std::vector<int> x{0, 1, 2, 0};  // at step 3 the score is far above what was foreseen
  const Best best = search_best_first(hmm.program, hmm.parameters, {x});
  CHECK_FALSE(best.optimal);
  CHECK(best.why == "the lookahead was exceeded at step 3, so it is no bound");
  CHECK(best.log_score == Approx(hmm.score(x, ints(best.tags))));
}

TEST_CASE("best-first search breaks ties always in the same way") {
  ScoredHmm hmm = exact_hmm(1);
  hmm.parameters.values.clear();
  const std::vector<int> x{0, 1, 2, 0};
  const Best best = search_best_first(hmm.program, hmm.parameters, {x});
  CHECK(best.tags == search_best_first(hmm.program, hmm.parameters, {x}).tags);
  CHECK(best.log_score == 0);
}
