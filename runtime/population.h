// What lives on the forest for one sequence: particles, a beam, or everything. A population is a
// policy of the interpreter: it chooses which children of its rows are kept.
#pragma once
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "runtime/forest.h"
#include "runtime/sample.h"

namespace scry {

/// By Method.
inline constexpr std::array kMethodNames{"is", "filter", "smooth", "beam", "beam", "enumerate"};

/// The candidates of one step, for the rows of one sequence: cell = row · |Y| + tag. Scores are
/// divided by the temperature already.
struct CandidateTable {
  int num_tags = 0;
  std::span<const double> scores;       ///< g; -∞ where forbidden
  std::span<const double> compats;      ///< C_t; 0 at t = T and without lookahead
  std::span<const double> row_scores;   ///< G_{t-1}
  std::span<const double> row_compats;  ///< C_{t-1}
  size_t num_rows() const { return row_scores.size(); }
  bool viable(size_t cell) const { return scores[cell] > -INFINITY && compats[cell] > -INFINITY; }
};

/// Of one sequence. Rows and cells are numbered within it, from 0.
class Population {
 public:
  virtual ~Population() = default;
  /// Chooses the cells that become the rows of the next level, in rising order, none twice. None:
  /// nothing of positive weight is left.
  virtual void choose(const CandidateTable& table, int step, std::vector<int32_t>& cells) = 0;
  /// After the last step, whose rows are `final_rows` of the forest: how many particles are on
  /// each, and the log of their weight together; the weights of all rows add up to Ẑ.
  virtual void weigh_rows(const Forest& forest, std::span<const RowId> final_rows,
                          std::vector<int32_t>& counts, std::vector<double>& log_weights) const = 0;
  /// Likewise after the last step, all that there is to tell.
  virtual Ensemble finish(const Forest& forest, std::span<const RowId> final_rows) = 0;
};

/// For the sequence with this number and length.
std::unique_ptr<Population> make_population(const SampleOptions& options, int64_t sequence,
                                            int length);

/// Fills length, tags and log_scores with the prefixes of these rows.
void fill_sequences(const Forest& forest, std::span<const RowId> rows, int length,
                    Ensemble& ensemble);

/// Whether the method needs C and s̄ (eq:c).
bool looks_ahead(Method method);

}  // namespace scry
