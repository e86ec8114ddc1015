// Weighted particles: importance sampling, filtering, smoothing (sec:sis).
#pragma once
#include "runtime/error_bar.h"
#include "runtime/genealogy.h"
#include "runtime/population.h"

namespace scry {

/// M particles. Those on one row have one weight, as a weight is made of the row's path alone.
class Particles : public Population {
 public:
  Particles(const SampleOptions& options, int64_t sequence, int length);
  void choose(const CandidateTable& table, int step, std::vector<int32_t>& cells) override;
  void weigh_rows(const Forest& forest, std::span<const RowId> final_rows,
                  std::vector<int32_t>& counts, std::vector<double>& log_weights) const override;
  Ensemble finish(const Forest& forest, std::span<const RowId> final_rows) override;

 private:
  void propose(const CandidateTable& table, int step);
  double weigh();
  bool should_resample(int step, double ess) const;
  Genealogy::Level note_level(const CandidateTable& table) const;
  void resample_now(int step, StepRecord& record, Genealogy::Level& level);
  void settle(std::vector<int32_t>& cells);
  ErrorBar error_bar(std::span<const StepRecord> steps) const;
  double num_particles() const { return static_cast<double>(options_.particles); }

  SampleOptions options_;
  int64_t sequence_;
  int length_;
  bool proposes_ahead_, weighs_ahead_;

  // Of each particle: its row in the level, and during a step the cell it moves to. -1: dead, as no
  // candidate of positive probability was left to it.
  std::vector<int32_t> cells_;
  double log_z_ = 0;  // of the steps up to the last resampling

  // Of the level's rows.
  std::vector<double> row_log_weights_;  // of each particle there, since the last resampling
  std::vector<int32_t> row_counts_;

  // Of the step's cells.
  std::vector<double> cumulated_;  // q, within a row
  std::vector<double> cell_log_weights_;
  std::vector<int32_t> counts_, copies_, row_of_cell_;
  std::vector<double> cell_weights_;  // relative to exp top_, where counts_ is not 0
  double top_ = 0, total_ = 0;        // of the weights of all particles

  std::vector<double> uniforms_, weights_;  // of each particle; scratch
  std::vector<int32_t> order_, moved_;
  std::vector<StepRecord> steps_;
  Genealogy genealogy_;
};

}  // namespace scry
