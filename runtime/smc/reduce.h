// From many weights to few, without bias: the optimal resampling of Fearnhead & Clifford (2003).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace scry {

/// The choice itself, of weights ≥ 0 as they are: what weighs a threshold κ or more is heavy, and
/// kept as it is; of the light ones so many that `num_kept` are kept in all, each with probability
/// w / κ, to weigh κ. So the sum of all weights stays, and no unbiased choice of so many has less
/// variance in any weight.
class Reduction {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  /// Of `num_kept` > 0, fewer than there are weights above 0. Heavy ones may be ∞. The weight of
  /// place `num_kept`, counted from the heaviest.
  double find_threshold(std::span<const double> weights, size_t num_kept);
  /// κ.
  double threshold() const { return kappa_; }
  size_t num_heavy() const { return num_heavy_; }
  /// Equal weights are all heavy or all light, however their sum was rounded.
  bool is_heavy(double weight) const { return weight > heaviest_light_; }
  /// Appends to `kept` the indices of the heavy ones and of those light ones that a systematic
  /// sweep with this offset, 0 < offset < 1, chooses, in rising order. It sweeps in the order
  /// `order`, a permutation of all indices; empty: as they are. One that is `retained` is among
  /// them: `offset_to_retain` says with which offset it would be.
  void sweep(std::span<const double> weights, double offset, std::span<const size_t> order,
             std::vector<size_t>& kept, size_t retained = kNone) const;
  /// Of an offset that is uniform over (0, 1), one that is uniform over those that choose this
  /// light one.
  double offset_to_retain(std::span<const double> weights, double offset,
                          std::span<const size_t> order, size_t retained) const;

 private:
  double kappa_ = 0, heaviest_light_ = 0;
  size_t num_heavy_ = 0, num_light_kept_ = 0;
  std::vector<double> scratch_;
};

/// To how many a reduction leaves none that weighs less than `least`, but for one: those that weigh
/// as much, and so many in the place of the others. `num_above` are above 0, though rounding may
/// have left 0 of some.
size_t count_heavier(std::span<const double> weights, size_t num_above, double least);

/// A reduction of log weights. They may be of any size: no number overflows. -∞ is never chosen.
class Reducer {
 public:
  static constexpr size_t kNone = Reduction::kNone;

  /// The log weights that the rest is about, until the next call. They must outlive it.
  void weigh(std::span<const double> log_weights);
  std::span<const double> log_weights() const { return log_weights_; }
  /// log Σ exp of them.
  double log_total() const { return log_total_; }
  /// How many are above -∞.
  size_t num_above() const { return num_above_; }
  /// `count_heavier` than this share of all.
  size_t count_heavier(double share) const;

  /// log κ, of fewer than there are. Until the next call, those that are above it are heavy, and
  /// what one weighs may be asked for in units of κ.
  double log_threshold(size_t num_kept);
  bool is_heavy(size_t i) const { return reduction_.is_heavy(weights_[i]); }
  double share(size_t i) const { return weights_[i] / reduction_.threshold(); }

  /// Chooses `num_kept`: appends to `kept` their indices, in rising order, and to
  /// `kept_log_weights` what each weighs from now on. All of them, as they are, if there are no
  /// more. Light ones are chosen by a systematic sweep with this offset, in this order (Reduction).
  ///
  /// One of them, above -∞, may be `retained`: the choice is then drawn as it is given that this
  /// one is among the chosen. Its offset is uniform over those that choose it, which has to be
  /// asked for by an offset that is uniform over (0, 1).
  void reduce(size_t num_kept, double offset, std::span<const size_t> order,
              std::vector<size_t>& kept, std::vector<double>& kept_log_weights,
              size_t retained = kNone);

 private:
  void relate_to(double reference);

  std::span<const double> log_weights_;
  double top_ = 0, log_total_ = 0;
  size_t num_above_ = 0;         // -∞
  double reference_ = 0;         // weights are relative to exp of it
  std::vector<double> weights_;  // may be ∞ where they are heavy for sure
  Reduction reduction_;
  std::vector<double> scratch_;
};

}  // namespace scry
