// From many weights to few, without bias: the optimal resampling of Fearnhead & Clifford (2003).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace scry {

/// The threshold of a reduction to `num_kept`: what weighs κ or more is kept as it is, and of the
/// rest M − k are kept, each with probability w / κ and then with the weight κ. The sum of all
/// weights stays, and no unbiased choice of so many has less variance in any weight.
struct Threshold {
  double log_kappa;
  size_t num_heavy;  ///< k < num_kept
};

/// Of log weights above -∞, more than `num_kept` ≥ 1 of them, in any order, which are reordered.
/// Weights may be of any size: no number overflows.
Threshold find_threshold(std::span<double> log_weights, size_t num_kept);

/// To how many of these log weights a reduction leaves none that weighs less than `share` of all of
/// them, but for one: those that weigh as much, and so many in the place of the others.
size_t count_heavier(std::span<const double> log_weights, double share);

/// Chooses `num_kept` of the log weights, as find_threshold has it: appends to `kept` their
/// indices, in rising order, and to `kept_log_weights` what each weighs from now on. All of them,
/// as they are, if there are no more. -∞ is never chosen.
///
/// The light ones are chosen by a systematic sweep with this offset, 0 < offset < 1, in the order
/// `order`, a permutation of all indices; empty: as they are.
///
/// One of them, above -∞, may be `retained`: the choice is then drawn as it is given that this one
/// is among the chosen. Its offset is uniform over those that choose it, which has to be asked for
/// by an offset that is uniform over (0, 1).
class Reducer {
 public:
  static constexpr size_t kNone = SIZE_MAX;
  void reduce(std::span<const double> log_weights, size_t num_kept, double offset,
              std::span<const size_t> order, std::vector<size_t>& kept,
              std::vector<double>& kept_log_weights, size_t retained = kNone);

 private:
  std::vector<double> scratch_;
};

}  // namespace scry
