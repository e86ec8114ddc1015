#include "runtime/decode/accuracy.h"

#include <cmath>

#include "runtime/kernels/philox.h"
#include "tests/catch.h"

using namespace scry;

namespace {

constexpr auto kTags = static_cast<size_t>(Accuracy::kTags),
               kSequences = static_cast<size_t>(Accuracy::kSequences),
               kSpanF1 = static_cast<size_t>(Accuracy::kSpanF1),
               kLoss = static_cast<size_t>(Accuracy::kLoss);

}  // namespace

TEST_CASE("accuracies are over all tags, sequences and spans of the file") {
  const SpanTags spans(Alphabet::of("O B I"));
  const std::vector<int32_t> a{1, 2, 0}, b{1, 2, 1}, c{0}, d{1};
  AccuracyTally sum = tally(a, b, 0.5, &spans);
  sum += tally(c, c, 0, &spans);
  sum += tally(d, d, 0, &spans);
  CHECK(*value_of(Accuracy::kTags, sum) == Approx(4 / 5.0));
  CHECK(*value_of(Accuracy::kSequences, sum) == Approx(2 / 3.0));
  CHECK(*value_of(Accuracy::kSpanF1, sum) == Approx(2 * 2 / (2 + 3.0)));  // decided 2, gold 3
  CHECK(*value_of(Accuracy::kLoss, sum) == Approx(0.5 / 3));
  CHECK(!value_of(Accuracy::kSpanF1, tally(a, b, 0, nullptr)));
  CHECK(!value_of(Accuracy::kTags, {}));
  CHECK_THROWS(tally(a, c, 0, nullptr));
}

TEST_CASE("intervals hold the truth in about 95 % of data sets, and differences are of pairs") {
  // Right with probability 0.8 a tag; the second way is right wherever the first is, and in half of
  // the other cases: 0.1 better.
  constexpr int kTrials = 200, kLength = 5;
  int held = 0, held_difference = 0;
  double width = 0, width_of_difference = 0;
  for (uint32_t trial = 0; trial < kTrials; ++trial) {
    Random random(7, trial);
    Comparison comparison({"first", "second"});
    for (int i = 0; i < 80; ++i) {
      AccuracyTally first{.num_tags = kLength, .num_sequences = 1}, second = first;
      for (int t = 0; t < kLength; ++t) {
        const double u = random.uniform();
        first.num_right_tags += u < 0.8 ? 1 : 0;
        second.num_right_tags += u < 0.9 ? 1 : 0;
      }
      comparison.add({first, second});
    }
    const std::vector<ComparedRow> rows = comparison.rows(200, 3);
    const Measured& one = *rows[0].measured[kTags];
    const Measured& difference = *rows[0].last_less_this[kTags];
    held += *one.low <= 0.8 && 0.8 <= *one.high ? 1 : 0;
    held_difference += *difference.low <= 0.1 && 0.1 <= *difference.high ? 1 : 0;
    width += *one.high - *one.low;
    width_of_difference += *difference.high - *difference.low;
    CHECK(!rows[1].last_less_this[kTags]);
  }
  // 95 % of 200 are 190, with a standard deviation of 3; percentiles of 200 resamples lose a
  // little.
  CHECK(held >= 176);
  CHECK(held_difference >= 176);
  CHECK(held + held_difference < 2 * kTrials);
  CHECK(width_of_difference < width);
}

TEST_CASE(
    "rows are the same for the same seed; few sequences, or like ones, have no interval; what is "
    "not there is nothing") {
  Comparison comparison({"a", "b"});
  AccuracyTally right{.num_tags = 3,
                      .num_right_tags = 3,
                      .num_sequences = 1,
                      .num_right_sequences = 1,
                      .spans = {},
                      .loss = 0};
  AccuracyTally wrong{
      .num_tags = 3, .num_right_tags = 1, .num_sequences = 1, .spans = {}, .loss = 2};
  comparison.add({right, wrong});
  const std::vector<ComparedRow> one = comparison.rows();
  CHECK(one[0].name == "a");
  CHECK(one[0].measured[kTags]->value == 1);
  CHECK(!one[0].measured[kTags]->low);
  CHECK(!one[0].measured[kSpanF1]);
  CHECK(one[0].last_less_this[kLoss]->value == 2);
  CHECK(one[0].last_less_this[kSequences]->value == -1);
  for (int i = 0; i < 18; ++i) comparison.add({i % 2 == 0 ? wrong : right, right});
  CHECK(!comparison.rows()[0].measured[kTags]->low);
  comparison.add({wrong, right});
  CHECK(comparison.rows(100, 5)[0].measured[kTags]->low ==
        comparison.rows(100, 5)[0].measured[kTags]->low);
  CHECK(*comparison.rows(100, 5)[0].measured[kTags]->high >= 2 / 3.0);
  CHECK(comparison.num_sequences() == 20);
  Comparison alike({"a"});
  for (int i = 0; i < 50; ++i) alike.add({right});
  CHECK(alike.rows()[0].measured[kTags]->value == 1);
  CHECK(!alike.rows()[0].measured[kTags]->low);
}
