// The discrete particle set (Fearnhead & Clifford 2003): weighted, distinct prefixes.
#pragma once
#include "runtime/smc/families.h"
#include "runtime/smc/population.h"

namespace scry {

/// M weighted prefixes, all different. Every child of each is weighed, by a = ℓ + g and A = a + C_t
/// (C = 0 without a lookahead, and at t = T), and all children are reduced to M by exp A: the
/// heavy ones stay, of the light ones some are chosen at random and then weigh more, so that
/// Σ exp A stays as it is and everything is unbiased. So with the exact lookahead Ẑ = Z in every
/// run. log Ẑ = log Σ exp a at t = T, before the reduction there.
///
/// There are fewer than M where the others would be light (`tolerance`): where a few prefixes have
/// nearly all of the weight, places cost time and bring nothing. That too is a reduction as above,
/// to a number that the weights alone decide.
///
/// Ẑ is unbiased for every lookahead, also for one that is −∞ where p is not 0: children of C = −∞
/// and a > −∞ fill the places that the others leave, and get one of the M in any case (M > 1),
/// where they are reduced by exp a. An exact lookahead loses nothing by it but that place: they
/// come to nothing by themselves.
///
/// A given tagging is retained as Whiteley, Andrieu & Doucet (2010) have it: each reduction is
/// drawn given that it keeps the tagging's prefix, whose weight becomes what it would have become.
/// Then all children are reduced in one sweep in a random order, and not by families: in the order
/// of their tags, near-equal weights and the one offset that keeps the given tag would have the
/// same tag chosen for every prefix.
class Discrete : public Population {
 public:
  /// What it holds of a candidate: g, C, A, its weight twice, and its place in the order.
  static constexpr double kCandidateBytes = 5 * sizeof(double) + sizeof(size_t);

  Discrete(const SampleOptions& options, const SampleInput& input, int64_t sequence);
  void begin(int step) override;
  void propose(const CandidateTable& table) override;
  void select(std::vector<Child>& children) override;
  int64_t num_left_out() const override { return num_left_out_; }
  void weigh_rows(const Forest& forest, std::span<const RowId> rows, std::vector<int32_t>& counts,
                  std::vector<double>& log_weights) const override;
  Ensemble finish(const Forest& forest, std::span<const RowId> final_rows) override;

 private:
  double log_weight_without_ahead(size_t cell) const;
  size_t count_places() const;
  void find_retained();
  void reduce();
  void choose(size_t num_kept, std::span<const double, 2> offsets, size_t retained,
              std::vector<size_t>& kept, std::vector<double>& kept_log_weights);
  void reduce_blind(size_t num_kept, std::span<const double, 2> offsets);
  void shuffle_order();

  SampleOptions options_;
  int64_t sequence_;
  int length_;
  std::span<const int> given_;  // the tagging to retain; may be empty
  int step_ = 0;
  double log_z_ = 0;
  bool is_exact_ = true;      // nothing was left out so far
  int64_t num_left_out_ = 0;  // of the last step

  std::vector<double> row_log_weights_, next_log_weights_;  // ℓ, of the level's rows; of the next
  // Of the step's candidates: cell = row · |Y| + tag.
  int64_t num_tags_ = 0;
  double scale_ = 1;
  std::vector<double> scores_, compats_, log_weights_;  // g; C; A, or -∞
  size_t num_seeing_ = 0, num_blind_ = 0;               // A > -∞; only a > -∞

  size_t retained_row_ = 0, retained_ = Reducer::kNone;  // the given tagging's; its cell
  std::vector<size_t> kept_;                             // cells
  std::vector<double> kept_log_weights_;

  Families families_;          // of the children of one prefix
  std::vector<size_t> order_;  // that the sweep takes the cells in, where one is retained
  std::vector<StepRecord> steps_;
};

}  // namespace scry
