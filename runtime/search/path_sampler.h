// Sums over the paths of a lattice, and paths drawn by them.
#pragma once
#include <span>
#include <vector>

#include "runtime/kernels/eigen_types.h"
#include "runtime/search/lattice.h"

namespace scry {

/// Paths y ~ exp(G_T / τ) / Z by the backward sums of a lattice (eq:q-exact-unnorm), which must
/// outlive it.
class PathSampler {
 public:
  PathSampler(const Lattice& lattice, double temperature);

  double log_z() const { return log_z_; }
  /// p(y_t = tag | x), [T, num_tags].
  RealMatrix<double> tag_marginals(int num_tags) const;

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
