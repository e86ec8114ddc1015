#include "runtime/decode/accuracy.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "runtime/kernels/philox.h"

namespace scry {
namespace {

/// Of fewer, percentiles of resamples are no intervals.
constexpr size_t kLeastSequences = 20;

constexpr std::array<const char*, kNumAccuracies> kNames{"tag_accuracy", "sequence_accuracy",
                                                         "span_f1", "mean_loss"};

std::optional<double> share(double part, double all) {
  return all > 0 ? std::optional(part / all) : std::nullopt;
}

/// With the 2.5th and 97.5th percentiles of what came of the resamples.
Measured with_interval(double value, std::vector<double> resampled) {
  Measured measured{value, {}, {}};
  if (resampled.size() < 40) return measured;  // too few for such percentiles
  std::sort(resampled.begin(), resampled.end());
  if (resampled.front() == resampled.back()) return measured;  // which tells nothing of others
  const auto last = static_cast<double>(resampled.size() - 1);
  measured.low = resampled[static_cast<size_t>(std::floor(0.025 * last))];
  measured.high = resampled[static_cast<size_t>(std::ceil(0.975 * last))];
  return measured;
}

}  // namespace

AccuracyTally& AccuracyTally::operator+=(const AccuracyTally& more) {
  num_tags += more.num_tags;
  num_right_tags += more.num_right_tags;
  num_sequences += more.num_sequences;
  num_right_sequences += more.num_right_sequences;
  spans += more.spans;
  loss += more.loss;
  return *this;
}

AccuracyTally tally(std::span<const int32_t> decided, std::span<const int32_t> gold, double loss,
                    const SpanTags* spans) {
  if (decided.size() != gold.size())
    throw Error("accuracy: the decision and the gold tags are not equally many");
  AccuracyTally tally{.num_tags = static_cast<int64_t>(gold.size()), .num_sequences = 1};
  for (size_t t = 0; t < gold.size(); ++t) tally.num_right_tags += decided[t] == gold[t] ? 1 : 0;
  tally.num_right_sequences = tally.num_right_tags == tally.num_tags ? 1 : 0;
  if (spans != nullptr) tally.spans = spans->count(decided, gold);
  tally.loss = loss;
  return tally;
}

std::span<const char* const> accuracy_names() { return kNames; }

std::optional<double> value_of(Accuracy accuracy, const AccuracyTally& tally) {
  const auto real = [](int64_t count) { return static_cast<double>(count); };
  switch (accuracy) {
    case Accuracy::kTags:
      return share(real(tally.num_right_tags), real(tally.num_tags));
    case Accuracy::kSequences:
      return share(real(tally.num_right_sequences), real(tally.num_sequences));
    case Accuracy::kSpanF1:
      return share(2 * real(tally.spans.both), real(tally.spans.decided + tally.spans.truth));
    case Accuracy::kLoss:
      break;
  }
  return share(tally.loss, real(tally.num_sequences));
}

void Comparison::add(std::vector<AccuracyTally> tallies) {
  if (tallies.size() != names_.size()) throw Error("comparison: a tally is missing");
  sequences_.push_back(std::move(tallies));
}

std::vector<ComparedRow> Comparison::rows(int num_resamples, uint64_t seed) const {
  const size_t num_rows = names_.size(), num_sequences = sequences_.size();
  std::vector<ComparedRow> rows(num_rows);
  for (size_t row = 0; row < num_rows; ++row) rows[row].name = names_[row];
  std::vector<AccuracyTally> whole(num_rows);
  for (const std::vector<AccuracyTally>& sequence : sequences_) {
    for (size_t row = 0; row < num_rows; ++row) whole[row] += sequence[row];
  }
  std::vector<std::vector<AccuracyTally>> resamples;
  for (int b = 0; b < num_resamples && num_sequences >= kLeastSequences; ++b) {
    std::vector<AccuracyTally>& sums = resamples.emplace_back(num_rows);
    Random random(seed, static_cast<uint32_t>(b));
    for (size_t i = 0; i < num_sequences; ++i) {
      const auto drawn = static_cast<size_t>(random.uniform() * static_cast<double>(num_sequences));
      for (size_t row = 0; row < num_rows; ++row) sums[row] += sequences_[drawn][row];
    }
  }
  /// Of a function of all rows' tallies, which may have no value.
  const auto measure = [&](const auto& value) -> std::optional<Measured> {
    const std::optional<double> here = value(whole);
    if (!here) return std::nullopt;
    std::vector<double> resampled;
    for (const std::vector<AccuracyTally>& sums : resamples)
      if (const std::optional<double> there = value(sums)) resampled.push_back(*there);
    return with_interval(*here, std::move(resampled));
  };
  for (size_t row = 0; row < num_rows; ++row) {
    for (size_t which = 0; which < kNumAccuracies; ++which) {
      const auto accuracy = static_cast<Accuracy>(which);
      const auto of_row = [&](const auto& sums) { return value_of(accuracy, sums[row]); };
      const auto of_difference = [&](const auto& sums) -> std::optional<double> {
        const std::optional<double> last = value_of(accuracy, sums.back()), here = of_row(sums);
        return last && here ? std::optional(*last - *here) : std::nullopt;
      };
      rows[row].measured[which] = measure(of_row);
      if (row + 1 < num_rows) rows[row].last_less_this[which] = measure(of_difference);
    }
  }
  return rows;
}

}  // namespace scry
