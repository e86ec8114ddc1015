// What searches refuse, and what they say then.
#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/search/search.h"
#include "tests/catch.h"
#include "tests/support/scored_hmm.h"

using namespace scry;
using namespace scry::test;

namespace {

template <class Search>
SamplingError trouble_of(Search search) {
  try {
    search();
  } catch (const SamplingError& error) {
    return error;
  }
  throw Error("no SamplingError was thrown");
}
/// All three searches fail alike.
void check_trouble(const ScoredHmm& hmm, const SampleInput& input, Trouble trouble, int step,
                   const std::string& what) {
  for (const SamplingError& error :
       {trouble_of([&] { viterbi(hmm.program, hmm.parameters, input); }),
        trouble_of([&] { sample_finite(hmm.program, hmm.parameters, input); }),
        trouble_of([&] { search_best_first(hmm.program, hmm.parameters, input); })}) {
    CHECK(error.trouble() == trouble);
    CHECK(error.step() == step);
    CHECK(error.what() == what);
  }
}

}  // namespace

TEST_CASE("best-first search needs a lookahead") {
  const ScoredHmm hmm(1, hand_hmm_without_proposal());
  CHECK_THROWS_AS(search_best_first(hmm.program, hmm.parameters, {}), Error);
}

TEST_CASE("dynamic programming needs finite states") {
  ScoredHmm hmm(1);
  hmm.program.state.push_back({"h", Type::real({3})});
  CHECK_THROWS_WITH(viterbi(hmm.program, hmm.parameters, {}),
                    Catch::Contains("the model's states are not finite: 'h' is"));
  CHECK_THROWS_WITH(sample_finite(hmm.program, hmm.parameters, {}), Catch::Contains("not finite"));
}

TEST_CASE("exact sampling refuses options that make no sense") {
  const ScoredHmm hmm(1);
  const std::vector<int> x{0};
  const auto run = [&](SampleOptions options) {
    sample_finite(hmm.program, hmm.parameters, {x}, options);
  };
  CHECK_THROWS_WITH(run({.particles = 0}), "particles: 0, but at least 1 is needed");
  CHECK_THROWS_WITH(run({.temperature = 0}), "temperature: 0, but it must be above 0");
  CHECK_THROWS_WITH(run({.temperature = NAN}), Catch::Contains("temperature"));
  CHECK_THROWS_WITH(run({.temperature = 1e-310}), Catch::Contains("too large"));
}

TEST_CASE("searches name a symbol outside the alphabet") {
  const ScoredHmm hmm(1);
  const std::vector<int> x{0, 57, 1}, y{0, 1, -1};
  check_trouble(hmm, {x}, Trouble::kBadInput, 2,
                "sequence 1, step 2: the symbol 57 is outside the alphabet of 3");
  check_trouble(hmm, {y}, Trouble::kBadInput, 3,
                "sequence 1, step 3: the symbol -1 is outside the alphabet of 3");
}

TEST_CASE("searches refuse constraints of another size") {
  const ScoredHmm hmm(1);
  const std::vector<int> x{0, 1};
  check_trouble(hmm, {x, TagSets(3, kHmmTags)}, Trouble::kBadInput, 0,
                "sequence 1: 2 symbols and 2 tags, but constraints for 3 and 2");
  check_trouble(hmm, {x, TagSets(2, 5)}, Trouble::kBadInput, 0,
                "sequence 1: 2 symbols and 2 tags, but constraints for 2 and 5");
}

TEST_CASE("searches name the step at which every tag is forbidden") {
  const ScoredHmm hmm(1);
  const std::vector<int> x{0, 1, 2};
  TagSets allowed(3, kHmmTags);
  allowed.allow_only(2, {});
  check_trouble(hmm, {x, allowed}, Trouble::kForbidden, 2,
                "sequence 1, step 2: every tag is forbidden");
}

TEST_CASE("searches name the tag whose score is not a number, unless it is forbidden") {
  for (const double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    ScoredHmm hmm(1);
    hmm.set_emit(1, 2, bad);
    const std::vector<int> x{0, 1, 2, 0};
    check_trouble(hmm, {x}, Trouble::kNotANumber, 3,
                  std::string("sequence 1, step 3: the model's score of tag '1' is ") +
                      (std::isnan(bad) ? "NaN" : "+inf"));
    TagSets allowed(4, kHmmTags);
    allowed.forbid(3, 1);
    CHECK(std::isfinite(viterbi(hmm.program, hmm.parameters, {x, allowed}).log_score));
    CHECK(std::isfinite(search_best_first(hmm.program, hmm.parameters, {x, allowed}).log_score));
    CHECK(std::isfinite(sample_finite(hmm.program, hmm.parameters, {x, allowed}).log_z));
  }
}

TEST_CASE("best-first search names where the lookahead is not a number") {
  ScoredHmm hmm(1);
  hmm.parameters.values.set(48 + 2, NAN);  // proposal.emit of tag 0 and symbol 2
  const std::vector<int> x{0, 0, 2, 0};
  const SamplingError error =
      trouble_of([&] { search_best_first(hmm.program, hmm.parameters, {x}); });
  CHECK(error.trouble() == Trouble::kNotANumber);
  CHECK(std::string(error.what()) == "sequence 1, step 2: the lookahead's score to go is NaN");
  hmm.program.back.forward.run = back_without_h;
  const SamplingError other =
      trouble_of([&] { search_best_first(hmm.program, hmm.parameters, {x}); });
  CHECK(other.trouble() == Trouble::kNotANumber);
  CHECK(std::string(other.what()) ==
        "sequence 1, step 1: the lookahead's compatibility of tag '0' is NaN");
}

TEST_CASE("searches name the step at which no tagging is left") {
  ScoredHmm hmm(1);
  for (int tag = 0; tag < kHmmTags; ++tag) hmm.set_emit(tag, 2, -INFINITY);
  const std::vector<int> x{0, 1, 2, 0}, y{2};
  check_trouble(hmm, {x}, Trouble::kNoMass, 3,
                "sequence 1, step 3: no tagging up to here has a score above -inf");
  check_trouble(hmm, {y}, Trouble::kNoMass, 1,
                "sequence 1, step 1: no tagging up to here has a score above -inf");
}

TEST_CASE("an exact lookahead sees at once that no tagging has mass") {
  ScoredHmm hmm = exact_hmm(1);
  for (int tag = 0; tag < kHmmTags; ++tag) hmm.set_emit(tag, 2, -INFINITY);
  hmm.copy_to_lookahead();
  std::vector<int> x(50, 0);
  x.back() = 2;
  const SamplingError error =
      trouble_of([&] { search_best_first(hmm.program, hmm.parameters, {x}); });
  CHECK(error.trouble() == Trouble::kNoMass);
  CHECK(error.step() == 0);
}

TEST_CASE("searches stop at their limit and say what to do") {
  const ScoredHmm hmm(1);
  const std::vector<int> x{0, 1, 2, 0, 1, 1};
  const SearchOptions options{.sequence = 4, .max_rows = 5};
  const SamplingError error =
      trouble_of([&] { viterbi(hmm.program, hmm.parameters, {x}, options); });
  CHECK(error.trouble() == Trouble::kTooManyRows);
  CHECK(std::string(error.what()) ==
        "sequence 5, step 4: there are more than 5 states; raise max_rows, or sample by a particle "
        "method");
  const SamplingError other =
      trouble_of([&] { search_best_first(hmm.program, hmm.parameters, {x}, options); });
  CHECK(other.trouble() == Trouble::kTooManyRows);
  CHECK(std::string(other.what()) ==
        "sequence 5: the search extended 5 prefixes without an answer; raise max_rows, or use a "
        "beam");
  CHECK(viterbi(hmm.program, hmm.parameters, {x}, {.max_rows = 11}).num_rows == 11);
}

TEST_CASE("dynamic programming that memory has no room for says how much it would take") {
  const ScoredHmm hmm(1);
  const std::vector<int> x{0, 1, 2, 0, 1, 1};
  // 2 tags: two arcs at the first step, four at each of the others, of 24 bytes; and 4 scores of 8.
  const std::string needs =
      "sequence 5, step 3: 2 states with 2 tags may need about 560 bytes in all 6 steps, and 250 "
      "bytes are allowed; allow more (--memory 1K), or sample by a particle method";
  const SamplingError best = trouble_of(
      [&] { viterbi(hmm.program, hmm.parameters, {x}, {.sequence = 4, .memory = 250}); });
  CHECK(best.trouble() == Trouble::kTooMuchMemory);
  CHECK(best.what() == needs);
  const SamplingError draws = trouble_of([&] {
    sample_finite(hmm.program, hmm.parameters, {x}, {.first_sequence = 4, .memory = 250});
  });
  CHECK(draws.what() == needs);
  CHECK(viterbi(hmm.program, hmm.parameters, {x}, {.memory = 560}).tags ==
        viterbi(hmm.program, hmm.parameters, {x}).tags);
}
