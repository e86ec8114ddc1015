#include "runtime/train/train_data.h"

#include "tests/catch.h"
#include "tests/support/hand_hmm.h"

using namespace scry;

namespace {

std::string fault_of(std::vector<int> x, std::vector<int> y, TagUse tags,
                     ExampleSet set = ExampleSet::kTraining) {
  const std::vector<Example> examples{{{0}, {0}, "", "", 1},
                                      {std::move(x), std::move(y), "", "", 2}};
  try {
    check_examples(test::hand_hmm(), examples, tags, set);
    return "";
  } catch (const ExampleError& error) {
    CHECK(error.number() == 1);
    CHECK(error.set() == set);
    return error.what();
  }
}

}  // namespace

TEST_CASE("examples outside the alphabets or without the tags they need are named") {
  CHECK(fault_of({0, 2}, {1, 0}, TagUse::kNeeded).empty());
  CHECK(fault_of({0, 3}, {1, 0}, TagUse::kNeeded) ==
        "example 2: step 2: the symbol 3 is outside the alphabet of 3");
  CHECK(fault_of({-1}, {}, TagUse::kIgnored, ExampleSet::kDevelopment) ==
        "development example 2: step 1: the symbol -1 is outside the alphabet of 3");
  CHECK(fault_of({0, 0}, {1, 2}, TagUse::kNeeded) ==
        "example 2: step 2: the tag 2 is outside the alphabet of 2");
  CHECK(fault_of({0, 0}, {1}, TagUse::kNeeded) == "example 2: 2 symbols but 1 tags");
  CHECK(fault_of({0}, {}, TagUse::kNeeded).empty());  // they are open
  CHECK(fault_of({0}, {}, TagUse::kIgnored).empty());
  CHECK(fault_of({0}, {7, 7, 7}, TagUse::kIgnored).empty());
}

TEST_CASE("empty examples are counted and left out, and the others keep their numbers") {
  const std::vector<Example> examples{
      {{}, {}, "", "", 1}, {{1}, {0}, "", "", 2}, {{}, {}, "", "", 3}, {{2, 1}, {1, 0}, "", "", 4}};
  TrainData data =
      check_examples(test::hand_hmm(), examples, TagUse::kNeeded, ExampleSet::kTraining);
  CHECK(data.num_empty == 2);
  REQUIRE(data.examples.size() == 2);
  CHECK(data.examples[0].number == 1);
  CHECK(data.examples[1].number == 3);
  CHECK(data.examples[1].y.size() == 2);
  sort_by_length(data.examples);
  CHECK(data.examples[0].number == 3);
}

TEST_CASE("what is known of open tags is checked, ended and counted") {
  const Program program = test::hand_hmm();
  Example open{{0, 1}, {}, "", "", 1}, half = open, wrong = open, both{{0, 1}, {0, 1}, "", "", 2};
  half.allowed = TagSets(2, 2);
  half.allowed.allow_only(2, {1});
  both.allowed = half.allowed;
  std::deque<std::vector<Example>> kept;
  const auto check = [&](const Example& example) {
    return check_examples(program, kept.emplace_back(std::vector{both, example}), TagUse::kNeeded,
                          ExampleSet::kTraining);
  };
  CHECK_THROWS_WITH(check(open), "example 1: it has tags, and sets of tags beside them");
  both.allowed = {};
  const TrainData data = check(half);
  CHECK(data.num_incomplete == 1);
  CHECK(data.examples[0].is_complete());
  CHECK_FALSE(data.examples[1].is_complete());
  CHECK(check(open).examples[1].allowed == nullptr);
  REQUIRE(data.examples[1].allowed != nullptr);
  CHECK_FALSE(data.examples[1].allowed->allows(2, 0));
  wrong.allowed = TagSets(3, 2);
  CHECK_THROWS_WITH(check(wrong), "example 2: 2 symbols and 2 tags, but sets of tags for 3 and 2");
  wrong.allowed = half.allowed;
  wrong.allowed.forbid(2, 1);
  CHECK_THROWS_WITH(check(wrong), "example 2: step 2: every tag is forbidden");
  CHECK(hash_examples(check(open).examples, {}) != hash_examples(data.examples, {}));
  Example other = half;
  other.allowed.allow_only(2, {0});
  CHECK(hash_examples(check(other).examples, {}) != hash_examples(data.examples, {}));
}

TEST_CASE("the hash of the data sees every symbol, tag, boundary and set") {
  using Examples = std::vector<TrainExample>;
  const std::vector<int> a{0, 1}, b{0}, c{1}, d{1, 1};
  std::vector<uint64_t> hashes{hash_examples(Examples{{a, a, 0}, {b, b, 1}}, {}),
                               hash_examples(Examples{{a, d, 0}, {b, b, 1}}, {}),
                               hash_examples(Examples{{d, a, 0}, {b, b, 1}}, {}),
                               hash_examples(Examples{{a, {}, 0}, {b, {}, 1}}, {}),
                               hash_examples(Examples{{b, {}, 0}, {c, {}, 1}, {b, {}, 2}}, {}),
                               hash_examples(Examples{{b, b, 0}, {a, a, 1}}, {}),
                               hash_examples(Examples{{a, a, 0}}, Examples{{b, b, 1}}),
                               hash_examples({}, Examples{{a, a, 0}, {b, b, 1}}),
                               hash_examples({}, {})};
  std::sort(hashes.begin(), hashes.end());
  CHECK(std::unique(hashes.begin(), hashes.end()) == hashes.end());
  CHECK(hash_examples(Examples{{a, a, 0}}, {}) == hash_examples(Examples{{a, a, 0}}, {}));
}
