// Weighted particles: importance sampling, filtering, smoothing (sec:sis).
#pragma once
#include "runtime/smc/error_bar.h"
#include "runtime/smc/genealogy.h"
#include "runtime/smc/population.h"
#include "runtime/smc/tag_wheel.h"

namespace scry {

/// M particles. Those on one row have one weight, as a weight is made of the row's path alone.
///
/// Where w_t does not depend on y_t, particles are resampled before they draw y_t, unless told
/// otherwise. Weights are known when all rows were seen. Until then particles draw as if nothing
/// was resampled, and again, with the candidates shown again, if it must be; but if one table has
/// all rows and few tags, these are weighed first, so that nothing is drawn in vain.
///
/// A given tagging is retained by conditional SMC with ancestor sampling (Lindsten, Jordan & Schön
/// 2014): the first particle always goes on by the given tags. Where the others are resampled,
/// which is then multinomially and before the draw, it stays, but on a prefix that is drawn anew:
/// of each particle's, by its weight times what the given tags would come to after it. So the
/// tagging is left bit by bit, and p(y | x) is what draws from the final particles have, if the
/// given tagging was one. Which steps resample is a function of the particles there, and changes
/// nothing of it.
class Particles : public Population {
 public:
  Particles(const SampleOptions& options, const SampleInput& input, int64_t sequence);
  void begin(int step) override;
  void propose(const CandidateTable& table) override;
  bool wants_futures() override;
  void set_futures(std::span<const double> scores) override;
  bool looks_again() override;
  void select(std::vector<Child>& children) override;
  void weigh_rows(const Forest& forest, std::span<const RowId> rows, std::vector<int32_t>& counts,
                  std::vector<double>& log_weights) const override;
  Ensemble finish(const Forest& forest, std::span<const RowId> final_rows) override;

 private:
  void gather_by_row();
  void draw_tags(const TagWheel& wheel, std::span<const int32_t> particles, int32_t row);
  double log_change(const CandidateTable& table, size_t i, double log_total) const;
  double weigh(std::span<const double> log_weights, std::span<const int32_t> counts);
  bool should_resample(double ess) const;
  double weigh_all_rows();
  bool resample_rows();
  void retain(std::span<const int32_t> rows_before);
  void check_retained(const CandidateTable& table, size_t i) const;
  void resample_now(std::span<const double> weights, std::vector<int32_t>& places,
                    std::vector<int32_t>& counts);
  void note_rows(std::span<const int32_t> counts_before, std::span<const double> weights);
  void note_children(std::span<const int32_t> counts_before);
  void settle(std::vector<Child>& children);
  ErrorBar error_bar(std::span<const StepRecord> steps) const;
  double num_particles() const { return static_cast<double>(options_.particles); }

  static constexpr size_t kRetained = 0;  // the particle that is on the given tagging

  SampleOptions options_;
  int64_t sequence_;
  int length_;
  std::span<const int> given_;  // the tagging to retain; may be empty
  bool proposes_ahead_, weighs_ahead_, resamples_before_, draws_by_arithmetic_;

  int step_ = 0;
  double log_z_ = 0;  // of the steps up to the last resampling
  StepRecord record_;
  bool is_decided_ = false;  // whether to resample before the draw

  // Of each particle: its row in the level, and the child that it moves to, by its place. -1: dead,
  // as no candidate of positive probability was left to it.
  std::vector<int32_t> rows_, places_;
  std::vector<double> uniforms_;
  std::vector<double> points_;  // arithmetic draws: where in its row's part of (0, 1) it is

  // Of the level's rows.
  std::vector<double> row_log_weights_;  // of each particle there, since the last resampling
  std::vector<double> row_log_changes_;  // of it by this step, where that depends on no tag
  std::vector<double> row_shares_;       // arithmetic draws: q of the row's whole prefix
  std::vector<double> row_compats_;      // C_{t-1}, if something is retained
  std::vector<double> row_futures_;      // G of the given tags to come, if resampling is due
  std::vector<int32_t> row_counts_;
  std::vector<int32_t> by_row_;  // the living particles, those of one row together
  size_t num_seen_ = 0;          // of by_row_: of the rows whose candidates were seen

  // Of the step's places: the children that particles were drawn to.
  std::vector<Child> children_;
  std::vector<int32_t> counts_;
  std::vector<double> log_weights_, shares_;
  std::vector<double> weights_;  // of rows or places, relative to exp top_
  double top_ = 0, total_ = 0;   // of the weights of all particles

  std::vector<TagWheel> wheels_;  // of the rows, where all are weighed before the draw; else of one
  // Of one row.
  std::vector<int32_t> place_of_tag_;    // -1: nobody went there
  std::vector<int32_t> tags_, reached_;  // of each particle on the row; the different ones

  // Scratch of resampling; those are as they were before it.
  std::vector<double> row_log_sums_, order_weights_;
  std::vector<int32_t> order_, firsts_, counts_before_, places_before_;
  std::vector<StepRecord> steps_;
  Genealogy genealogy_;
};

}  // namespace scry
