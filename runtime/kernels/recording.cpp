#include "runtime/kernels/recording.h"

#include <cmath>
#include <type_traits>

namespace scry {

/// Numbers are added as those of particles' weights are, so that weights are made of these sums.
void Recording::set_log_sums(int64_t first_row, const RealBuffer& row_scores,
                             const RealBuffer& row_compats, int64_t num_rows, int64_t num_ahead,
                             int num_tags) {
  log_sums.resize(static_cast<size_t>(states.num_rows()));
  std::vector<double> logits(static_cast<size_t>(num_tags));
  row_scores.visit([&](const auto* g) {
    using Real = std::remove_const_t<std::remove_pointer_t<decltype(g)>>;
    const auto* c = static_cast<const Real*>(row_compats.at());
    for (int64_t row = 0; row < num_rows; ++row) {
      const int64_t first = row * num_tags;
      double top = -INFINITY, total = 0;
      for (int64_t tag = 0; tag < num_tags; ++tag) {
        double logit = static_cast<double>(g[first + tag]);
        if (row < num_ahead) logit += static_cast<double>(c[first + tag]);
        logits[static_cast<size_t>(tag)] = logit;
        top = std::max(top, logit);
      }
      if (top > -INFINITY) {
        for (const double logit : logits) total += std::exp(logit - top);
      }
      log_sums[static_cast<size_t>(first_row + row)] =
          top > -INFINITY ? top + std::log(total) : top;
    }
  });
}

}  // namespace scry
