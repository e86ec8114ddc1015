// Weighted particles: importance sampling, filtering, smoothing (sec:sis).
#pragma once
#include "runtime/smc/error_bar.h"
#include "runtime/smc/genealogy.h"
#include "runtime/smc/population.h"

namespace scry {

/// M particles. Those on one row have one weight, as a weight is made of the row's path alone.
class Particles : public Population {
 public:
  Particles(const SampleOptions& options, int64_t sequence, int length);
  void begin(int step) override;
  void propose(const CandidateTable& table, std::vector<Placed>& placed) override;
  void select(std::vector<int32_t>& places) override;
  void weigh_rows(const Forest& forest, std::span<const RowId> final_rows,
                  std::vector<int32_t>& counts, std::vector<double>& log_weights) const override;
  Ensemble finish(const Forest& forest, std::span<const RowId> final_rows) override;

 private:
  double cumulate(const CandidateTable& table, size_t row);
  void draw_tags(std::span<const int32_t> particles, int32_t row);
  double weigh();
  bool should_resample(double ess) const;
  Genealogy::Level note_level() const;
  void resample_now(StepRecord& record, Genealogy::Level& level);
  void settle(std::vector<int32_t>& places);
  ErrorBar error_bar(std::span<const StepRecord> steps) const;
  double num_particles() const { return static_cast<double>(options_.particles); }

  SampleOptions options_;
  int64_t sequence_;
  int length_;
  bool proposes_ahead_, weighs_ahead_;

  int step_ = 0;
  double log_z_ = 0;  // of the steps up to the last resampling

  // Of each particle: its row in the level, and during a step the place it moves to. -1: dead, as
  // no candidate of positive probability was left to it.
  std::vector<int32_t> places_;
  std::vector<double> uniforms_;

  // Of the level's rows.
  std::vector<double> row_log_weights_;  // of each particle there, since the last resampling
  std::vector<int32_t> row_counts_;
  std::vector<int32_t> by_row_;  // the living particles, those of one row together
  size_t num_seen_ = 0;          // of by_row_: of the rows whose candidates were seen

  // Of the step's places: the children that particles were drawn to.
  std::vector<int32_t> parents_, counts_, copies_, row_of_place_;
  std::vector<double> log_weights_;
  std::vector<double> weights_;  // relative to exp top_
  double top_ = 0, total_ = 0;   // of the weights of all particles

  // Of one row's tags.
  std::vector<double> cumulated_;        // q
  std::vector<int32_t> place_of_tag_;    // -1: nobody went there
  std::vector<int32_t> tags_, reached_;  // of each particle on the row; the different ones

  std::vector<double> order_weights_;  // scratch of resampling
  std::vector<int32_t> order_, moved_;
  std::vector<StepRecord> steps_;
  Genealogy genealogy_;
};

}  // namespace scry
