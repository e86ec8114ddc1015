// The paths of a lattice, best first.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/search/lattice.h"

namespace scry {

/// Gives the paths of a lattice, which must outlive it, one after the other in the order of falling
/// score-to-go of their first row, as added from the right. Of equal scores the smaller tag goes
/// first, and of equal tags what goes on better. Each comes once: different paths are different
/// taggings. What is ranked of a row's paths is no more than was asked for (Huang & Chiang 2005).
class BestPaths {
 public:
  explicit BestPaths(const Lattice& lattice);

  struct Path {
    std::vector<int32_t> tags;
    double score = 0;  ///< G_T
  };
  /// Nothing if all of finite score were given.
  std::optional<Path> next();

 private:
  /// A path from a row on: by one of the row's arcs, and then as the path of that rank from there.
  struct Way {
    double score;
    int64_t arc;
    int64_t rank;
    /// The heap's order: whether `other` goes first.
    bool operator<(const Way& other) const {
      if (score != other.score) return score < other.score;
      return arc != other.arc ? arc > other.arc : rank > other.rank;
    }
  };
  struct Row {
    std::vector<Way> found;     ///< in order; empty: not yet met
    std::vector<Way> waiting;   ///< a heap: the best by each arc that is not found
    bool is_exhausted = false;  ///< there are no more than were found
  };
  Row& at(size_t t, int64_t row) { return rows_[t][static_cast<size_t>(row)]; }
  Row& meet(size_t t, int64_t row);
  bool needs_below(size_t t, const Row& row) const;
  void find_next(size_t t, Row& row);
  void extend_first();

  const Lattice& lattice_;
  std::vector<std::vector<double>> to_go_;  // the best score-to-go, [T + 1][row]
  std::vector<std::vector<Row>> rows_;      // [T][row]
  int64_t num_given_ = 0;
};

}  // namespace scry
