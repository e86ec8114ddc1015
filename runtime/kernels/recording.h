// What is kept of a run over a batch, so that it can be differentiated.
#pragma once
#include "runtime/kernels/forest.h"
#include "runtime/kernels/state_rows.h"

namespace scry {

/// The forest of a run with the state of every prefix that goes on, and, if wanted, what proposed
/// its tags. Of a level's rows, those that go on come first. They are numbered among themselves:
/// by this number, all levels end to end, are states, positions and cells.
struct Recording {
  /// With `keeps_cells`, g, C and the next states of all tags are kept.
  Recording(const Program& program, bool keeps_cells)
      : keeps_cells(keeps_cells),
        states(program, program.state),
        scores(program.precision, 0),
        compats(program.precision, 0),
        nexts(program, program.state),
        kept(program, program.kept) {}

  bool keeps_cells;
  bool keeps_log_sums = false;
  Forest forest{0};
  StateRows states;
  std::vector<int32_t> positions;  ///< of the batch, where each is extended
  struct Level {
    int64_t first = 0, count = 0;  ///< its rows that go on
    int64_t num_ahead = 0;         ///< the first so many of these go on after the next step too
    int64_t first_cells = -1;      ///< of its first row in scores and compats; -1: none were kept
  };
  std::vector<Level> levels;
  RealBuffer scores;   ///< g, of every tag: cell = row · |Y| + tag, rows with cells end to end
  RealBuffer compats;  ///< C_t (eq:c), likewise; of rows that are ahead
  StateRows nexts;     ///< s_t, likewise
  StateRows kept;      ///< what `extend` keeps for its gradient, by row
  /// With `keeps_log_sums`: L = log Σ_y exp(g + C_t) of every row that goes on, by its number,
  /// where C_T = 0; -∞ where no tag is possible.
  std::vector<double> log_sums;

  /// A whole tagging that was reached.
  struct Final {
    RowId row;
    int32_t sequence;
    int32_t count;      ///< particles on it
    double log_weight;  ///< of them together, over M
  };
  std::vector<Final> finals;

  /// Memory is kept from run to run.
  void clear() {
    forest = Forest(0);
    states.resize(0);
    positions.clear();
    levels.clear();
    finals.clear();
    log_sums.clear();
    num_cell_rows_ = 0;
  }
  /// The forest's next level begins: its rows that go on, and where.
  void add_level(const StateRows& next, std::span<const int32_t> where, int64_t num_ahead) {
    levels.push_back({states.num_rows(), next.num_rows(), num_ahead, -1});
    states.append_rows(next);
    positions.insert(positions.end(), where.begin(), where.end());
  }
  /// Makes room for the cells of the last level.
  void add_cells(int num_tags) {
    levels.back().first_cells = num_cell_rows_;
    num_cell_rows_ += levels.back().count;
    const int64_t num_cells = num_cell_rows_ * num_tags;
    scores.grow(num_cells);
    compats.grow(num_cells);
    nexts.resize(num_cells);
    kept.resize(num_cell_rows_);
  }
  /// Of so many rows from this number on, from their cells; the first `num_ahead` of them have C.
  /// Rows may come again.
  void set_log_sums(int64_t first_row, const RealBuffer& row_scores, const RealBuffer& row_compats,
                    int64_t num_rows, int64_t num_ahead, int num_tags);
  /// The number among those that go on, of a row of level t that does.
  int64_t state_of(RowId row, int level) const {
    return levels[static_cast<size_t>(level)].first + (row - forest.level_begin(level));
  }
  /// Calls `visit(row, number)` for each row that goes on, in the order of their numbers.
  template <class Visit>
  void for_each_extended(const Visit& visit) const {
    for (size_t t = 0; t < levels.size(); ++t) {
      const RowId begin = forest.level_begin(static_cast<int>(t));
      for (int64_t i = 0; i < levels[t].count; ++i)
        visit(begin + static_cast<RowId>(i), levels[t].first + i);
    }
  }

 private:
  int64_t num_cell_rows_ = 0;
};

}  // namespace scry
