// What an experiment measures of each configuration and M, as rows of one table: the columns of
// tables, CSV and JSON, and their legend, are made from it.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace scry {

enum class Measure : uint8_t {
  kKl,
  kOffsetKl,
  kDeviation,
  kBias,
  kRmse,
  kRatio,
  kMarginals,
  kEss,
  kTaggings,
  kProposalKl,
};
inline constexpr size_t kNumMeasures = 10;

struct MeasureRow {
  Measure measure;
  const char* key;      ///< in JSON and CSV; key_error is its standard error
  const char* heading;  ///< of a column for people
  const char* summary;  ///< for people who see it for the first time
  bool is_shown;        ///< to people; the others are in JSON and CSV alone
};
/// All of them, by Measure.
std::span<const MeasureRow> measure_table();

/// A mean over inputs.
struct Estimate {
  double value = NAN;  ///< NaN: nothing to tell
  /// Standard error: 1.96 of it make a 95 % interval, as it is widened for small numbers by
  /// Student's t. Inputs are the independent units, so it covers the choice of inputs and the draws
  /// of all runs; of a single input, the draws alone. NaN if it cannot be told.
  double error = NAN;
};

/// Gathers, input by input, what its runs gave.
class MeanOverInputs {
 public:
  /// The runs of one input; those that are NaN have nothing to tell, and neither has an input
  /// without others.
  void add(std::span<const double> runs);
  int num_inputs() const { return count_; }
  Estimate estimate() const;
  /// Of what does not depend on the choice of inputs, such as a mean of Ẑ/Z that should be 1: the
  /// error covers the draws alone, wherever there are runs to tell it from.
  Estimate estimate_over_runs() const;
  /// √ of the mean, with its error by the delta method.
  Estimate root() const;

 private:
  int count_ = 0;
  double mean_ = 0, squares_ = 0;  // of the inputs' means, and of their deviations (Welford 1962)
  double infinite_ = 0;            // ±∞ if an input's mean was
  double run_variance_ = 0;        // Σ over inputs of the variance of the mean over runs
  int num_with_runs_ = 0;          // inputs of which that is known
  double degrees_ = 0;             // of freedom of all of them
};

/// The squared deviations of runs from their mean, scaled so that their mean is the variance
/// without bias; all NaN for fewer than two runs, or if one is not finite.
std::vector<double> squared_deviations(std::span<const double> runs);

}  // namespace scry
