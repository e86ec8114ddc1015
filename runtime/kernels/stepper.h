// A program's step over many prefixes at once: g, f and c for rows of a forest.
#pragma once
#include <span>

#include "runtime/kernels/batch.h"

namespace scry {

/// Prefixes: the position of the batch at which each is extended, and their states, which are
/// consecutive rows of `states`.
struct PrefixRows {
  const StateRows& states;
  std::span<const int32_t> positions;
  int64_t first_state = 0;
  int64_t size() const { return static_cast<int64_t>(positions.size()); }
};

/// What every tag would lead to, for each prefix: cell = row · |Y| + tag.
struct Cells {
  explicit Cells(const Program& program)
      : scores(program.precision, 0), compats(program.precision, 0), next(program, program.state) {}
  RealBuffer scores;   ///< g(s_{t-1}, x_t, y_t)
  RealBuffer compats;  ///< C_t (eq:c)
  StateRows next;      ///< s_t
};

/// The step kernels with scratch memory: one per thread. Rows are computed in chunks whose scratch
/// memory fits a core's cache, and each in the same way whatever its neighbours are.
class Stepper {
 public:
  Stepper(const Program& program, const Parameters& parameters);

  /// Fills `cells.scores` for `count` rows from `first` on; it must have room for all of `rows`.
  void score(const Batch& batch, PrefixRows rows, int64_t first, int64_t count, Cells& cells);
  /// Fills all of `cells`; without the next states if `cells.next` has no rows. The program must
  /// have a proposal, and the batch look ahead. What is kept for a gradient goes to rows of `kept`,
  /// from `first_kept` on, if they are wanted.
  void extend(const Batch& batch, PrefixRows rows, int64_t first, int64_t count, Cells& cells,
              StateRows* kept = nullptr, int64_t first_kept = 0);
  /// Follows one tag a row: next's rows become the states that `tags` lead to from `rows`.
  void advance(const Batch& batch, PrefixRows rows, std::span<const int32_t> tags, int64_t first,
               int64_t count, StateRows& next);
  /// g of one tag a row.
  void score_tag(const Batch& batch, PrefixRows rows, std::span<const int32_t> tags,
                 RealBuffer& scores);

  /// Rows of one call of a kernel.
  int64_t score_chunk() const { return score_.chunk; }
  int64_t extend_chunk() const { return extend_.chunk; }
  int64_t advance_chunk() const { return advance_.chunk; }

 private:
  struct Stage {
    Stage(const Program& program, const Kernel& kernel, const Parameters& parameters);
    void run(const Batch& batch, PrefixRows rows, int64_t first, int64_t count);
    BoundKernel kernel;
    int64_t chunk;
    Batch::Slots slots;
    StateSlots state, next, kept;
    SlotHandle y, scores, compats;
    std::vector<int32_t> all_tags;  // y, where every tag is tried
  };
  Stage score_, extend_, advance_, score_tag_;
  StateRows nothing_kept_, next_of_chunk_;
};

}  // namespace scry
