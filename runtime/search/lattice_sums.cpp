#include "runtime/search/lattice_sums.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace scry {

LatticeSums::LatticeSums(const Lattice& lattice, double temperature)
    : lattice_(lattice), cumulative_(lattice.steps.size()) {
  std::vector<double> later{0.0};  // H_t / τ of each row (eq:H), at first of the final node
  for (size_t t = lattice.steps.size(); t-- > 0;) later = sum_back(t, later, temperature);
  log_z_ = later.front();
}

/// H_{t-1} / τ from H_t / τ; keeps each row's cumulative weights, as multiples of its heaviest.
std::vector<double> LatticeSums::sum_back(size_t t, const std::vector<double>& later,
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

LatticeSums::Path LatticeSums::draw(std::span<const double> uniforms) const {
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

std::vector<std::vector<double>> LatticeSums::arc_marginals() const {
  const size_t length = lattice_.steps.size();
  std::vector<std::vector<double>> marginals(length);
  std::vector<double> reached{1.0}, next;  // the probability that a path goes through each row
  for (size_t t = 0; t < length; ++t) {
    const LatticeStep& step = lattice_.steps[t];
    marginals[t].assign(step.arcs.size(), 0.0);
    next.assign(t + 1 < length ? static_cast<size_t>(lattice_.steps[t + 1].num_rows()) : 1, 0.0);
    for (size_t row = 0; row < reached.size(); ++row) {
      const auto first = static_cast<size_t>(step.first_arc[row]);
      const auto last = static_cast<size_t>(step.first_arc[row + 1]);
      if (reached[row] == 0) continue;
      double before = 0;
      for (size_t arc = first; arc < last; ++arc) {
        const double share = (cumulative_[t][arc] - before) / cumulative_[t][last - 1];
        before = cumulative_[t][arc];
        marginals[t][arc] = reached[row] * share;
        next[static_cast<size_t>(step.arcs[arc].to)] += reached[row] * share;
      }
    }
    std::swap(reached, next);
  }
  return marginals;
}

RealMatrix<double> LatticeSums::tag_marginals(int num_tags) const {
  const std::vector<std::vector<double>> of_arcs = arc_marginals();
  RealMatrix<double> marginals =
      RealMatrix<double>::Zero(static_cast<Eigen::Index>(of_arcs.size()), num_tags);
  for (size_t t = 0; t < of_arcs.size(); ++t) {
    for (size_t arc = 0; arc < of_arcs[t].size(); ++arc)
      marginals(static_cast<Eigen::Index>(t), lattice_.steps[t].arcs[arc].tag) += of_arcs[t][arc];
  }
  return marginals;
}

/// A state may have forgotten the tag that led to it; but given the state, y_{t-1} and y_t are
/// independent: p(a, b) = Σ_s p(a, s) p(b | s).
std::vector<RealMatrix<double>> LatticeSums::transition_marginals(int num_tags) const {
  const std::vector<std::vector<double>> of_arcs = arc_marginals();
  std::vector<RealMatrix<double>> marginals;
  for (size_t t = 1; t < of_arcs.size(); ++t) {
    const LatticeStep &before = lattice_.steps[t - 1], &step = lattice_.steps[t];
    RealMatrix<double>& pairs =
        marginals.emplace_back(RealMatrix<double>::Zero(num_tags, num_tags));
    std::vector<double> reached(static_cast<size_t>(step.num_rows()), 0.0);
    for (size_t arc = 0; arc < before.arcs.size(); ++arc)
      reached[static_cast<size_t>(before.arcs[arc].to)] += of_arcs[t - 1][arc];
    for (size_t arc = 0; arc < before.arcs.size(); ++arc) {
      const auto row = static_cast<size_t>(before.arcs[arc].to);
      if (of_arcs[t - 1][arc] == 0) continue;
      const double share = of_arcs[t - 1][arc] / reached[row];
      const auto first = static_cast<size_t>(step.first_arc[row]);
      const auto last = static_cast<size_t>(step.first_arc[row + 1]);
      for (size_t next = first; next < last; ++next)
        pairs(before.arcs[arc].tag, step.arcs[next].tag) += share * of_arcs[t][next];
    }
  }
  return marginals;
}

/// Of each step's tag given the state before it, over the states that paths go through: by the
/// chain rule, whose terms are all at least 0.
double LatticeSums::entropy() const {
  const std::vector<std::vector<double>> of_arcs = arc_marginals();
  double entropy = 0;
  for (size_t t = 0; t < of_arcs.size(); ++t) {
    const LatticeStep& step = lattice_.steps[t];
    for (size_t row = 0; row + 1 < step.first_arc.size(); ++row) {
      const auto first = static_cast<size_t>(step.first_arc[row]);
      const auto last = static_cast<size_t>(step.first_arc[row + 1]);
      double before = 0;
      for (size_t arc = first; arc < last; ++arc) {
        const double share = (cumulative_[t][arc] - before) / cumulative_[t][last - 1];
        before = cumulative_[t][arc];
        if (of_arcs[t][arc] > 0) entropy -= of_arcs[t][arc] * std::log(share);
      }
    }
  }
  return entropy;
}

}  // namespace scry
