#include "runtime/smc/genealogy.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace scry {
namespace {

using Prefixes = std::span<const Genealogy::Prefix>;

/// Estimates of the expected weight to come, Q, after each prefix of a level, and of Q².
struct ToCome {
  std::vector<double> mean, square;
};

/// From those kept to all that were drawn: the others are taken for average ones.
void fill_dropped(Prefixes level, const ToCome& kept, ToCome& all) {
  double total = 0, known = 0;
  size_t row = 0;
  for (const Genealogy::Prefix& prefix : level) {
    if (prefix.copies == 0) continue;
    total += prefix.share * kept.mean[row++];
    known += prefix.share;
  }
  const double average = total / known;
  all.mean.clear();
  all.square.clear();
  row = 0;
  for (const Genealogy::Prefix& prefix : level) {
    const bool dropped = prefix.copies == 0;
    all.mean.push_back(dropped ? average : kept.mean[row]);
    all.square.push_back(dropped ? average * average : kept.square[row]);
    if (!dropped) ++row;
  }
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
double copying_variance(Prefixes level, const ToCome& to_come, int num_particles,
                        Resampling scheme) {
  DrawVariance all, rest, stratum;
  double strata = 0;  // sum of their variances
  for (size_t k = 0; k < level.size(); ++k)
    all.add(level[k].share, to_come.mean[k], to_come.square[k]);
  const double num = num_particles, whole = all.total();
  for (size_t k = 0; k < level.size(); ++k) {
    const double mean = to_come.mean[k], square = to_come.square[k], count = level[k].count;
    const double expected = num * level[k].share / whole;  // copies
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
/// `drawn` is room for as many numbers.
void step_back(Prefixes level, bool is_drawn, const ToCome& to_come, size_t num_above,
               std::vector<double>& drawn, ToCome& above) {
  above.mean.assign(num_above, 0.0);
  above.square.assign(num_above, 0.0);
  drawn.assign(num_above, 0.0);
  double top = -INFINITY;
  for (const Genealogy::Prefix& prefix : level) top = std::max(top, prefix.log_weight_change);
  for (size_t k = 0; k < level.size(); ++k) {
    const auto parent = static_cast<size_t>(level[k].parent);
    const double weight = std::exp(level[k].log_weight_change - top), count = level[k].count;
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
    if (!is_drawn) {  // each is its own parent, and all there is to know of that
      const double weight = std::exp(level[row].log_weight_change - top);
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
}

}  // namespace

std::optional<double> Genealogy::relative_variance(int num_particles, Resampling scheme) const {
  if (num_particles < 2) return std::nullopt;
  if (levels_.empty()) return 0.0;
  const auto level_at = [&](size_t t) {
    const size_t end = t + 1 < levels_.size() ? levels_[t + 1].first : prefixes_.size();
    return Prefixes(prefixes_).subspan(levels_[t].first, end - levels_[t].first);
  };
  const size_t num_final = level_at(levels_.size() - 1).size();
  ToCome to_come{std::vector<double>(num_final, 1.0), std::vector<double>(num_final, 1.0)}, next;
  std::vector<double> drawn;
  double by_copying = 0;
  for (size_t t = levels_.size(); t-- > 0;) {
    const Prefixes level = level_at(t);
    if (levels_[t].level != Level::kDrawn) {
      fill_dropped(level, to_come, next);
      std::swap(to_come, next);
      by_copying += copying_variance(level, to_come, num_particles, scheme);
    }
    size_t num_above = 1;
    if (t > 0) {
      num_above = static_cast<size_t>(std::ranges::count_if(
          level_at(t - 1), [](const Prefix& prefix) { return prefix.copies > 0; }));
    }
    step_back(level, levels_[t].level != Level::kWeighed, to_come, num_above, drawn, next);
    std::swap(to_come, next);
  }
  if (to_come.mean[0] == 0) return std::nullopt;  // weights too far apart for numbers
  return 1 - to_come.square[0] / (to_come.mean[0] * to_come.mean[0]) + by_copying;
}

}  // namespace scry
