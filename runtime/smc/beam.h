// The best prefixes, or all of them.
#pragma once
#include "runtime/smc/population.h"

namespace scry {

/// Keeps the M best candidates by G_t, or by G_t + C_t, with ties to earlier rows and tags; or, to
/// enumerate, all of positive weight, up to a limit.
class Beam : public Population {
 public:
  Beam(const SampleOptions& options, const SampleInput& input, int64_t sequence);
  void begin(int step) override;
  void propose(const CandidateTable& table) override;
  void select(std::vector<Child>& children) override;
  int64_t num_left_out() const override {
    return num_candidates_ - static_cast<int64_t>(entries_.size());
  }
  void weigh_rows(const Forest& forest, std::span<const RowId> rows, std::vector<int32_t>& counts,
                  std::vector<double>& log_weights) const override;
  Ensemble finish(const Forest& forest, std::span<const RowId> final_rows) override;

 private:
  struct Entry {
    double rank;
    Child child;
  };
  static bool is_better(const Entry& a, const Entry& b);
  void drop_the_worse();

  SampleOptions options_;
  bool keeps_all_, weighs_ahead_;
  int64_t sequence_;
  int length_;
  int step_ = 0;
  int64_t num_rows_ = 0;        // seen in this step
  int64_t num_candidates_ = 0;  // of positive weight, likewise
  size_t width_, most_;         // to be kept; to be held until the worse ones are dropped
  bool is_full_ = false;        // only what is better than the last entry need be looked at
  std::vector<Entry> entries_;  // the best so far, in any order; the last is the worst if full
  std::vector<StepRecord> steps_;
};

}  // namespace scry
