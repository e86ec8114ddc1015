// What lives on the forest for one sequence: particles, a beam, or everything. A population is a
// policy of the interpreter: it chooses which children of its rows are kept.
#pragma once
#include <cmath>
#include <span>
#include <vector>

#include "runtime/kernels/forest.h"
#include "runtime/smc/sample.h"

namespace scry {

/// The candidates of one step, for some rows of one sequence, one after the other: cell = row · |Y|
/// + tag, rows counted within the table. The numbers are the model's own; what they weigh is their
/// `scale`-fold, as a temperature divides g and C alike.
struct CandidateTable {
  int num_tags = 0;
  double scale = 1;                    ///< 1 / temperature
  int64_t first_row = 0;               ///< the number of the table's first row in its sequence
  std::span<const double> scores;      ///< g; -∞ where forbidden
  std::span<const double> compats;     ///< C_t; empty at t = T and without lookahead, where it is 0
  std::span<const double> row_scores;  ///< G_{t-1}
  std::span<const double> row_compats;  ///< C_{t-1}
  size_t num_rows() const { return row_scores.size(); }
  double compat(size_t cell) const { return compats.empty() ? 0 : compats[cell]; }
};

/// A candidate that becomes a row of the next level.
struct Child {
  int64_t row;  ///< its parent, by its number in the sequence
  int32_t tag;
  double score, compat;  ///< g and C_t, as they were in the table
};

/// Of one sequence. Rows are numbered within it, from 0. In each step it is shown the candidates of
/// all rows, in as many tables as memory asks for, perhaps a second time, and then says which
/// children it keeps. What it keeps does not depend on how the rows were cut into tables.
class Population {
 public:
  virtual ~Population() = default;
  /// Step t begins, counted from 1.
  virtual void begin(int step) = 0;
  /// The candidates of the next rows.
  virtual void propose(const CandidateTable& table) = 0;
  /// After all rows: whether it wants to know, for each of them, the score of the given tagging's
  /// tags from this step on, if they followed it. Then it is told by `set_futures`.
  virtual bool wants_futures() { return false; }
  virtual void set_futures(std::span<const double> /*scores*/) {}
  /// After that: whether it must be shown them again, all from the first.
  virtual bool looks_again() { return false; }
  /// After that: the children that become the rows of the next level, in the order of their parents
  /// and then of their tags. None: nothing of positive weight is left.
  virtual void select(std::vector<Child>& children) = 0;
  /// How many children of positive weight the last `select` left out, where it saw them all.
  virtual int64_t num_left_out() const { return 0; }
  /// After any step, whose rows are `rows` of the forest: the log of the weight of each by which
  /// the method compares them (so with C_t, if it looks ahead); and how many particles are on each,
  /// or nothing where rows are weighted as they are. After the last step the weights add up to Ẑ.
  virtual void weigh_rows(const Forest& forest, std::span<const RowId> rows,
                          std::vector<int32_t>& counts, std::vector<double>& log_weights) const = 0;
  /// Likewise after the last step, all that there is to tell.
  virtual Ensemble finish(const Forest& forest, std::span<const RowId> final_rows) = 0;
};

/// Of log Ẑ where a tagging is retained.
inline constexpr const char* kRetainedCaution =
    "a given tagging was retained: log Z is estimated as if it had been found";

/// Fills length, tags and log_scores with the prefixes of these rows.
void fill_sequences(const Forest& forest, std::span<const RowId> rows, int length,
                    Ensemble& ensemble);

}  // namespace scry
