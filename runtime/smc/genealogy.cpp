#include "runtime/smc/genealogy.h"

#include <algorithm>
#include <cmath>

namespace scry {
namespace {

/// Estimates of the expected weight to come, Q, after each prefix of a level, and of Q².
struct ToCome {
  std::vector<double> mean, square;
};

/// From those kept to all that were drawn: the others are taken for average ones.
ToCome fill_dropped(const Genealogy::Level& level, const ToCome& kept) {
  double total = 0, known = 0;
  size_t row = 0;
  for (size_t k = 0; k < level.shares.size(); ++k) {
    if (level.copies[k] == 0) continue;
    total += level.shares[k] * kept.mean[row++];
    known += level.shares[k];
  }
  const double average = total / known;
  ToCome all;
  row = 0;
  for (size_t k = 0; k < level.shares.size(); ++k) {
    const bool dropped = level.copies[k] == 0;
    all.mean.push_back(dropped ? average : kept.mean[row]);
    all.square.push_back(dropped ? average * average : kept.square[row]);
    if (!dropped) ++row;
  }
  return all;
}

/// The variance of Q when one prefix is drawn with these probabilities, up to a factor.
class DrawVariance {
 public:
  void add(double probability, double mean, double square) {
    total_ += probability;
    mean_ += probability * mean;
    square_ += probability * square;
  }
  double total() const { return total_; }
  double mean() const { return mean_ / total_; }
  double variance() const {
    return total_ > 0 ? std::max(0.0, square_ / total_ - mean() * mean()) : 0;
  }

 private:
  double total_ = 0, mean_ = 0, square_ = 0;
};

/// What copying adds to the relative variance: that of its random part, which is all M draws, the
/// rest that rounding left over, or one draw in each M-th of the weight, of prefixes in their
/// order.
double copying_variance(const Genealogy::Level& level, const ToCome& to_come, int num_particles,
                        Resampling scheme) {
  DrawVariance all, rest, stratum;
  double strata = 0;  // sum of their variances
  for (size_t k = 0; k < level.shares.size(); ++k)
    all.add(level.shares[k], to_come.mean[k], to_come.square[k]);
  const double num = num_particles, whole = all.total();
  for (size_t k = 0; k < level.shares.size(); ++k) {
    const double mean = to_come.mean[k], square = to_come.square[k], count = level.counts[k];
    const double expected = num * level.shares[k] / whole;  // copies
    const double each = expected / count;
    rest.add(count * (each - std::floor(each)), mean, square);
    double left = expected;
    while (left > 0) {
      const double taken = std::min(left, std::max(0.0, 1 - stratum.total()));
      stratum.add(taken, mean, square);
      left -= taken;
      if (stratum.total() < 1 - 1e-9) break;
      strata += stratum.variance();
      stratum = {};
    }
  }
  const double scale = all.mean() * all.mean() * num * num;
  if (scale == 0) return 0;
  switch (scheme) {
    case Resampling::kMultinomial:
      return num * all.variance() / scale;
    case Resampling::kResidual:
      return rest.total() * rest.variance() / scale;
    case Resampling::kStratified:
    case Resampling::kSystematic:
      break;
  }
  return strata / scale;
}

/// Q after each of the `num_above` prefixes that a level was drawn from; up to a common factor.
ToCome step_back(const Genealogy::Level& level, const ToCome& to_come, size_t num_above) {
  ToCome above{std::vector<double>(num_above, 0.0), std::vector<double>(num_above, 0.0)};
  std::vector<double> drawn(num_above, 0.0);
  const double top =
      *std::max_element(level.log_weight_changes.begin(), level.log_weight_changes.end());
  for (size_t k = 0; k < level.parents.size(); ++k) {
    const auto parent = static_cast<size_t>(level.parents[k]);
    const double weight = std::exp(level.log_weight_changes[k] - top), count = level.counts[k];
    const double sum = count * weight * to_come.mean[k];
    // Pairs of different children, and pairs within one.
    above.square[parent] +=
        2 * above.mean[parent] * sum + count * (count - 1) * weight * weight * to_come.square[k];
    above.mean[parent] += sum;
    drawn[parent] += count;
  }
  double largest = 0;
  for (size_t row = 0; row < num_above; ++row) {
    const double num = drawn[row];
    if (num > 0) above.mean[row] /= num;
    if (!level.is_drawn) {  // each is its own parent, and all there is to know of that
      const double weight = std::exp(level.log_weight_changes[row] - top);
      above.square[row] = weight * weight * to_come.square[row];
    } else {
      above.square[row] =
          num > 1 ? above.square[row] / (num * (num - 1)) : above.mean[row] * above.mean[row];
    }
    largest = std::max(largest, above.mean[row]);
  }
  for (size_t row = 0; row < num_above && largest > 0; ++row) {
    above.mean[row] /= largest;
    above.square[row] /= largest * largest;
  }
  return above;
}

}  // namespace

std::optional<double> Genealogy::relative_variance(int num_particles, Resampling scheme) const {
  if (num_particles < 2) return std::nullopt;
  if (levels_.empty()) return 0.0;
  const size_t num_final = levels_.back().parents.size();
  ToCome to_come{std::vector<double>(num_final, 1.0), std::vector<double>(num_final, 1.0)};
  double by_copying = 0;
  for (size_t t = levels_.size(); t-- > 0;) {
    const Level& level = levels_[t];
    if (level.resampled()) {
      to_come = fill_dropped(level, to_come);
      by_copying += copying_variance(level, to_come, num_particles, scheme);
    }
    const size_t num_above =
        t == 0 ? 1
               : levels_[t - 1].copies.size() -
                     static_cast<size_t>(
                         std::count(levels_[t - 1].copies.begin(), levels_[t - 1].copies.end(), 0));
    to_come = step_back(level, to_come, num_above);
  }
  if (to_come.mean[0] == 0) return std::nullopt;  // weights too far apart for numbers
  return 1 - to_come.square[0] / (to_come.mean[0] * to_come.mean[0]) + by_copying;
}

}  // namespace scry
