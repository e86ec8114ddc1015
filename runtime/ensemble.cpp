#include "runtime/ensemble.h"

#include <algorithm>
#include <cmath>

namespace scry {

double log_sum_exp(std::span<const double> values) {
  double top = -INFINITY, total = 0;
  for (double value : values) top = std::max(top, value);
  if (top == -INFINITY) return top;
  for (double value : values) total += std::exp(value - top);
  return top + std::log(total);
}

}  // namespace scry
