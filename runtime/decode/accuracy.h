// How right taggings are, beside gold tags; and ways to decide compared on the same sequences.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/decode/spans.h"

namespace scry {

/// Of one sequence, or added up over several.
struct AccuracyTally {
  int64_t num_tags = 0, num_right_tags = 0;
  int64_t num_sequences = 0, num_right_sequences = 0;
  SpanCounts spans = {};  ///< decided and truth, where the tags are of spans
  double loss = 0;

  AccuracyTally& operator+=(const AccuracyTally& more);
};
/// `spans` may be null.
AccuracyTally tally(std::span<const int32_t> decided, std::span<const int32_t> gold, double loss,
                    const SpanTags* spans);

/// What is compared: shares from 0 to 1, and the mean loss.
enum class Accuracy : uint8_t {
  kTags,       ///< of all tags, right ones
  kSequences,  ///< of all sequences, those without a wrong tag
  kSpanF1,     ///< over all spans of all sequences (micro-averaged), as conlleval has it
  kLoss,       ///< of a sequence, in the mean
};
inline constexpr size_t kNumAccuracies = 4;
/// "tag_accuracy", "sequence_accuracy", "span_f1", "mean_loss": by Accuracy.
std::span<const char* const> accuracy_names();
/// Nothing where there is nothing to measure: no tags, no sequences, no spans.
std::optional<double> value_of(Accuracy accuracy, const AccuracyTally& tally);

/// A figure with its 95 % interval; none of fewer than 20 sequences, or where all are alike.
struct Measured {
  double value = 0;
  std::optional<double> low, high;
};
struct ComparedRow {
  std::string name;
  /// By Accuracy.
  std::array<std::optional<Measured>, kNumAccuracies> measured;
  /// The last row's less this one's; by Accuracy. Nothing for the last row itself.
  std::array<std::optional<Measured>, kNumAccuracies> last_less_this;
};

/// Several ways to decide, each on every sequence.
class Comparison {
 public:
  explicit Comparison(std::vector<std::string> names) : names_(std::move(names)) {}
  /// Of one sequence, by name.
  void add(std::vector<AccuracyTally> tallies);
  size_t num_sequences() const { return sequences_.size(); }

  /// Intervals are percentiles of `num_resamples` bootstrap samples of the sequences, the same for
  /// all rows, so that differences are of pairs. A function of the seed.
  std::vector<ComparedRow> rows(int num_resamples = 1000, uint64_t seed = 1) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<AccuracyTally>> sequences_;  // [sequence][name]
};

}  // namespace scry
