#include "runtime/search/path_sampler.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace scry {

PathSampler::PathSampler(const Lattice& lattice, double temperature)
    : lattice_(lattice), cumulative_(lattice.steps.size()) {
  std::vector<double> later{0.0};  // H_t / τ of each row (eq:H), at first of the final node
  for (size_t t = lattice.steps.size(); t-- > 0;) later = sum_back(t, later, temperature);
  log_z_ = later.front();
}

/// H_{t-1} / τ from H_t / τ; keeps each row's cumulative weights, as multiples of its heaviest.
std::vector<double> PathSampler::sum_back(size_t t, const std::vector<double>& later,
                                          double temperature) {
  const LatticeStep& step = lattice_.steps[t];
  std::vector<double> sums;
  std::vector<double> weights;
  cumulative_[t].reserve(step.arcs.size());
  for (int64_t row = 0; row < step.num_rows(); ++row) {
    weights.clear();
    for (const Arc& arc : step.arcs_from(row))
      weights.push_back(arc.score / temperature + later[static_cast<size_t>(arc.to)]);
    double top = -INFINITY, total = 0;
    for (double weight : weights) top = std::max(top, weight);
    for (double weight : weights) {
      if (top > -INFINITY) total += std::exp(weight - top);
      cumulative_[t].push_back(total);
    }
    sums.push_back(top > -INFINITY ? top + std::log(total) : top);
  }
  return sums;
}

PathSampler::Path PathSampler::draw(std::span<const double> uniforms) const {
  Path path;
  int64_t row = 0;
  for (size_t t = 0; t < lattice_.steps.size(); ++t) {
    const LatticeStep& step = lattice_.steps[t];
    const auto first = cumulative_[t].begin() + step.first_arc[static_cast<size_t>(row)];
    const auto last = cumulative_[t].begin() + step.first_arc[static_cast<size_t>(row) + 1];
    // As they are at most 1 - 2⁻⁵³, the product is below the total: `found` is no end, and it has
    // positive mass.
    const auto found = std::upper_bound(first, last, uniforms[t] * *(last - 1));
    const Arc& arc = step.arcs[static_cast<size_t>(found - cumulative_[t].begin())];
    path.tags.push_back(arc.tag);
    path.score += arc.score;
    row = arc.to;
  }
  return path;
}

RealMatrix<double> PathSampler::tag_marginals(int num_tags) const {
  const size_t length = lattice_.steps.size();
  RealMatrix<double> marginals =
      RealMatrix<double>::Zero(static_cast<Eigen::Index>(length), num_tags);
  std::vector<double> reached{1.0}, next;  // the probability that a path goes through each row
  for (size_t t = 0; t < length; ++t) {
    const LatticeStep& step = lattice_.steps[t];
    next.assign(t + 1 < length ? static_cast<size_t>(lattice_.steps[t + 1].num_rows()) : 1, 0.0);
    for (size_t row = 0; row < reached.size(); ++row) {
      const auto first = static_cast<size_t>(step.first_arc[row]);
      const auto last = static_cast<size_t>(step.first_arc[row + 1]);
      if (reached[row] == 0) continue;
      double before = 0;
      for (size_t arc = first; arc < last; ++arc) {
        const double share = (cumulative_[t][arc] - before) / cumulative_[t][last - 1];
        before = cumulative_[t][arc];
        marginals(static_cast<Eigen::Index>(t), step.arcs[arc].tag) += reached[row] * share;
        next[static_cast<size_t>(step.arcs[arc].to)] += reached[row] * share;
      }
    }
    std::swap(reached, next);
  }
  return marginals;
}

}  // namespace scry
