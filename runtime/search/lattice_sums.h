// Sums over the paths of a lattice: Z, marginals and entropy of p(y | x), and paths drawn by them.
#pragma once
#include <span>
#include <vector>

#include "runtime/kernels/eigen_types.h"
#include "runtime/search/lattice.h"

namespace scry {

/// p(y | x) = exp(G_T / τ) / Z by the backward sums of a lattice (eq:q-exact-unnorm), which must
/// outlive it.
class LatticeSums {
 public:
  LatticeSums(const Lattice& lattice, double temperature);

  double log_z() const { return log_z_; }
  /// The probability that a path goes by each arc, [T][arc], as the lattice has them.
  std::vector<std::vector<double>> arc_marginals() const;
  /// p(y_t = tag | x), [T, num_tags].
  RealMatrix<double> tag_marginals(int num_tags) const;
  /// p(y_{t-1} = a, y_t = b | x), for each t from 2 on [num_tags, num_tags].
  std::vector<RealMatrix<double>> transition_marginals(int num_tags) const;
  /// Of p(y | x), in nats. Never below 0.
  double entropy() const;

  struct Path {
    std::vector<int32_t> tags;
    double score = 0;  ///< G_T
  };
  /// With one number in (0, 1) a step.
  Path draw(std::span<const double> uniforms) const;

 private:
  std::vector<double> sum_back(size_t t, const std::vector<double>& later, double temperature);

  const Lattice& lattice_;
  std::vector<std::vector<double>> cumulative_;  // [T][arc]
  double log_z_ = 0;
};

}  // namespace scry
