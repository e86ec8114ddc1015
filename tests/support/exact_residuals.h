// The residuals r_t of all taggings of one input, along every one of them: what calibration
// minimizes, by enumeration.
#pragma once
#include <cmath>
#include <functional>
#include <vector>

#include "runtime/smc/ensemble.h"
#include "runtime/train/forest_gradient.h"
#include "runtime/train/given_taggings.h"
#include "runtime/train/residuals.h"
#include "tests/support/taggings.h"

namespace scry::test {

/// One path for each tagging, whether or not it is possible; rows that are shared stand many times.
class AllTaggings {
 public:
  AllTaggings(const Program& program, const Parameters& parameters, const std::vector<int>& x)
      : ys(all_taggings(program.num_tags(), static_cast<int>(x.size()))),
        program_(program),
        batch_(program),
        taggings_(program, parameters, true) {
    std::vector<std::span<const int>> inputs;
    std::vector<TrainExample> examples;
    for (const std::vector<int>& y : ys) {
      inputs.emplace_back(x);
      examples.push_back({x, y, 0});
    }
    BatchEncoder(program, parameters).run(inputs, true, batch_);
    run_ = taggings_.follow(batch_, examples);
    for (const Recording::Level& level : run_.levels) {
      for (int64_t i = 0; i < level.count; ++i) run_.log_sums.push_back(log_sum(level, i));
    }
  }

  /// r_t along a tagging, t from 1, written out.
  double residual(size_t tagging, int t) const {
    const auto s = static_cast<int>(tagging);
    const RowId row = run_.forest.level_begin(t - 1) + s;
    const double before = t == 1 ? batch_.root_compat(s) : run_.forest.compat(row);
    return before + batch_.to_go(s, t - 1) - batch_.to_go(s, t) -
           run_.log_sums[static_cast<size_t>(run_.state_of(row, t - 1))];
  }
  /// Σ_y share(y) · mean_t r_t², over taggings with a share.
  double mean_square(std::span<const double> shares) const {
    double total = 0;
    for (size_t i = 0; i < ys.size(); ++i) {
      if (shares[i] == 0) continue;
      const int length = batch_.length(static_cast<int>(i));
      for (int t = 1; t <= length; ++t) total += shares[i] * std::pow(residual(i, t), 2) / length;
    }
    return total;
  }
  /// Adds `scale` times the gradient of that, for φ, by seeds. Tables are left to
  /// Gradients::finish.
  void add_gradient(const Parameters& parameters, std::span<const double> shares, double scale,
                    Gradients& gradients) {
    std::vector<double> weights(static_cast<size_t>(run_.forest.size()), 0.0);
    for (size_t i = 0; i < ys.size(); ++i) {
      const int length = batch_.length(static_cast<int>(i));
      for (int t = 1; t <= length && shares[i] > 0; ++t) {
        const RowId row = run_.forest.level_begin(t - 1) + static_cast<RowId>(i);
        weights[static_cast<size_t>(row)] = 2 * scale * shares[i] * residual(i, t) / length;
      }
    }
    BatchGradient batch_gradient(program_, parameters);
    ForestGradient forest_gradient(program_, parameters, batch_gradient);
    batch_gradient.begin(batch_);
    forest_gradient.add(batch_, run_, seed_residuals(batch_, run_, weights), batch_gradient,
                        gradients);
    batch_gradient.finish_lookahead(gradients);
  }

  std::vector<std::vector<int>> ys;
  const Batch& batch() const { return batch_; }
  const Recording& run() const { return run_; }

 private:
  double log_sum(const Recording::Level& level, int64_t i) const {
    std::vector<double> logits;
    for (int tag = 0; tag < program_.num_tags(); ++tag) {
      const int64_t cell = (level.first_cells + i) * program_.num_tags() + tag;
      logits.push_back(run_.scores.get(cell) + (i < level.num_ahead ? run_.compats.get(cell) : 0));
    }
    return log_sum_exp(logits);
  }

  const Program& program_;
  Batch batch_;
  GivenTaggings taggings_;
  Recording run_{program_, true};
};

}  // namespace scry::test
