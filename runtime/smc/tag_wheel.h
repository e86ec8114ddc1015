// The distribution that one prefix's next tag is drawn from.
#pragma once
#include <span>
#include <vector>

#include "runtime/smc/population.h"

namespace scry {

/// q(y_t | y_{:t-1}, x) ∝ exp(g + C_t) of one row (eq:q-local), cumulated over its tags.
class TagWheel {
 public:
  /// Becomes that of a row of the table, by g + C or by g. Returns log Σ exp of them; -∞ if no tag
  /// can be drawn.
  double set(const CandidateTable& table, size_t row, bool looks_ahead);
  size_t num_tags() const { return cumulated_.size(); }

  /// A tag, and where in its slice of the wheel the number fell.
  struct Hit {
    int32_t tag;
    double within;  ///< in (0, 1): uniform, if the number is
  };
  /// The tag whose slice holds u, 0 < u ≤ 1 − 2⁻⁵³.
  int32_t find(double u) const;
  Hit hit(double u) const;
  /// q of this tag.
  double share(int32_t tag) const;

 private:
  double begin_of(int32_t tag) const {
    return tag == 0 ? 0 : cumulated_[static_cast<size_t>(tag) - 1];
  }
  std::vector<double> cumulated_;  // up to a factor
};

}  // namespace scry
