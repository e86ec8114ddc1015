// The sequential Monte Carlo loop: extend → weigh → select, level by level over a batch.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/kernels/forest.h"
#include "runtime/kernels/recording.h"
#include "runtime/kernels/stepper.h"
#include "runtime/kernels/workers.h"
#include "runtime/smc/population.h"

namespace scry {

/// One sequence to be sampled.
struct Job {
  const SampleInput* input;
  int64_t sequence;  ///< its number
  Outcome* outcome;
};

/// Told of every new level of a sequence as soon as it is chosen: its rows of the forest are
/// [begin, end), and what the population weighs them by.
using LevelWatch = std::function<void(int step, const Forest& forest, RowId begin, RowId end,
                                      const Population& population)>;

/// The only such loop; what is proposed and kept is the populations' matter. All sequences of a
/// batch go through a step together; one that fails leaves, and the others go on.
class Interpreter {
 public:
  /// With `workers`, the rows of a level are shared out among them. The options' memory is for this
  /// interpreter alone.
  Interpreter(const Program& program, const Parameters& parameters, const SampleOptions& options,
              Workers* workers = nullptr);

  /// Fills the jobs' outcomes. They must be in the order of falling length, of valid inputs with at
  /// least one symbol. With a `recording`, that is filled instead of ensembles. `watch` sees the
  /// levels of all of them, and changes nothing.
  void run(std::span<const Job> jobs, Recording* recording = nullptr,
           const LevelWatch& watch = nullptr);
  /// For the runs to come.
  void set_options(const SampleOptions& options);
  void set_seed(uint64_t seed) { options_.seed = seed; }
  /// Of the last run.
  const Batch& batch() const { return batch_; }
  /// Gives back the memory that runs took; kernels keep their own.
  void release();

 private:
  /// A sequence of the batch.
  struct Member {
    Job job;
    std::unique_ptr<Population> population;
    int64_t num_rows = 1;  ///< in the level at hand
    bool failed = false;
  };
  /// Rows of the level at hand.
  struct Part {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
    bool holds(Part other) const { return begin <= other.begin && other.end <= end; }
  };

  int64_t choose_part_rows() const;
  void run_step(int step);
  void extend(Part part);
  void run_member(int index, int step, Part rows);
  void show(Member& member, int index, int step, Part rows);
  void choose(Member& member, int index, int step, Part rows);
  std::span<const double> score_futures(const Member& member, int index, int step, Part rows);
  void find_positions(int step, RowId begin, RowId end);
  void record_level();
  void record_cells(Part part, int64_t num_ahead);
  void share_out(int64_t count, int64_t chunk,
                 const std::function<void(Stepper&, int64_t, int64_t)>& run);
  const CandidateTable& read_candidates(const Member& member, int step, Part part,
                                        int64_t first_row, bool with_compat);
  void check_candidates(const Member& member, int step, Part part, bool with_compat) const;
  void grow(Member& member, int index, int step, Part rows);
  void take_states(Part rows);
  void move_states(int step, RowId begin);
  void finish(Member& member, int32_t index, RowId first_row);

  const Program& program_;
  SampleOptions options_;
  Workers* workers_;
  std::vector<Stepper> steppers_;  // one per worker
  BatchEncoder encoder_;
  bool looks_ahead_;
  bool advances_;  // whether states are made from their parents' by `advance`

  // Of the run at hand.
  Recording* recording_ = nullptr;
  const LevelWatch* watch_ = nullptr;
  bool keeps_states_ = false;  // of candidates
  int64_t part_rows_ = 0;      // of a part, at most
  double recorded_bytes_ = 0;
  std::vector<Member> members_;
  Batch batch_;
  Forest forest_;
  StateRows states_, next_;         // of the level's rows; of the next level's, or of their parents
  std::vector<int32_t> positions_;  // of rows that are extended
  int64_t num_ahead_ = 0;           // rows, the first ones, whose candidates have C_t and s_t

  // Of the part at hand.
  Part part_{0, 0};
  Cells cells_;
  std::vector<double> scores_, compats_, row_scores_, row_compats_;
  CandidateTable table_;
  std::vector<Child> children_;  // of the member at hand

  // Of the member at hand: what the given tagging's tags would come to after its rows.
  StateRows future_states_, next_futures_;
  RealBuffer future_scores_;
  std::vector<double> futures_;

  std::vector<int64_t> parent_rows_;  // of the next level's rows that go on
  std::vector<RowId> final_rows_;
  std::vector<int32_t> final_counts_;
  std::vector<double> final_log_weights_;
};

}  // namespace scry
