// The best prefixes, or all of them.
#pragma once
#include "runtime/population.h"

namespace scry {

/// Keeps the M best candidates by G_t, or by G_t + C_t, with ties to earlier rows and tags; or, to
/// enumerate, all of positive weight, up to a limit.
class Beam : public Population {
 public:
  Beam(const SampleOptions& options, int64_t sequence, int length);
  void choose(const CandidateTable& table, int step, std::vector<int32_t>& cells) override;
  void weigh_rows(const Forest& forest, std::span<const RowId> final_rows,
                  std::vector<int32_t>& counts, std::vector<double>& log_weights) const override;
  Ensemble finish(const Forest& forest, std::span<const RowId> final_rows) override;

 private:
  SampleOptions options_;
  int64_t sequence_;
  int length_;
  std::vector<double> ranks_;
  std::vector<StepRecord> steps_;
};

}  // namespace scry
