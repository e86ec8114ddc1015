// From many weights to few, without bias: the optimal resampling of Fearnhead & Clifford (2003).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace scry {

/// Chooses some of many log weights. What weighs a threshold κ or more is kept as it is, and of the
/// rest so many that `num_kept` are kept in all, each with probability w / κ and then with the
/// weight κ. The sum of all weights stays, and no unbiased choice of so many has less variance in
/// any weight. Weights may be of any size: no number overflows. -∞ is never chosen.
class Reducer {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  /// The log weights that the rest is about, until the next call. They must outlive it.
  void weigh(std::span<const double> log_weights);
  /// log Σ exp of them.
  double log_total() const { return log_total_; }
  /// To how many a reduction leaves none that weighs less than `share` of all of them, but for one:
  /// those that weigh as much, and so many in the place of the others.
  size_t count_heavier(double share) const;
  /// log κ, of fewer than there are.
  double log_threshold(size_t num_kept);

  /// Chooses `num_kept`: appends to `kept` their indices, in rising order, and to
  /// `kept_log_weights` what each weighs from now on. All of them, as they are, if there are no
  /// more.
  ///
  /// The light ones are chosen by a systematic sweep with this offset, 0 < offset < 1, in the order
  /// `order`, a permutation of all indices; empty: as they are.
  ///
  /// One of them, above -∞, may be `retained`: the choice is then drawn as it is given that this
  /// one is among the chosen. Its offset is uniform over those that choose it, which has to be
  /// asked for by an offset that is uniform over (0, 1).
  void reduce(size_t num_kept, double offset, std::span<const size_t> order,
              std::vector<size_t>& kept, std::vector<double>& kept_log_weights,
              size_t retained = kNone);

 private:
  void relate_to(double reference);
  void find_threshold(size_t num_kept);
  bool is_heavy(size_t i) const { return weights_[i] > heaviest_light_; }

  std::span<const double> log_weights_;
  double top_ = 0, log_total_ = 0;
  size_t num_above_ = 0;         // -∞
  double reference_ = 0;         // weights are relative to exp of it
  std::vector<double> weights_;  // may be ∞ where they are heavy for sure
  // Of the reduction at hand.
  double kappa_ = 0, heaviest_light_ = 0;
  size_t num_heavy_ = 0;
  std::vector<double> scratch_;
};

}  // namespace scry
