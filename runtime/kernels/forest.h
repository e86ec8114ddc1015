// The prefixes of a batch: one row each, whoever shares it.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace scry {

using RowId = int32_t;

/// Rows are append-only, level by level; a row is a prefix y_{:t} of one sequence of the batch and
/// knows its parent y_{:t-1} and its last tag. Equal prefixes are one row. The roots (t = 0) are
/// rows 0, 1, … of the sequences 0, 1, ….
class Forest {
 public:
  explicit Forest(int num_sequences) {
    for (int s = 0; s < num_sequences; ++s) add(-1, -1, s, 0, 0);
    end_level();
  }

  /// Whether so many more rows can be numbered.
  bool has_room(int64_t num_rows) const {
    return num_rows <= int64_t{std::numeric_limits<RowId>::max()} - size();
  }
  void add(RowId parent, int32_t tag, int32_t sequence, double log_score, double compat) {
    parents_.push_back(parent);
    tags_.push_back(tag);
    sequences_.push_back(sequence);
    log_scores_.push_back(log_score);
    compats_.push_back(compat);
  }
  void set_log_score(RowId row, double log_score) {
    log_scores_[static_cast<size_t>(row)] = log_score;
  }
  void end_level() { ends_.push_back(size()); }

  RowId size() const { return static_cast<RowId>(parents_.size()); }
  int num_levels() const { return static_cast<int>(ends_.size()); }
  /// The first row of level t. Levels 0 … t-1 must be complete.
  RowId level_begin(int t) const { return t == 0 ? 0 : ends_[static_cast<size_t>(t) - 1]; }
  RowId level_end(int t) const { return ends_[static_cast<size_t>(t)]; }

  RowId parent(RowId row) const { return parents_[static_cast<size_t>(row)]; }
  int32_t tag(RowId row) const { return tags_[static_cast<size_t>(row)]; }
  double log_score(RowId row) const { return log_scores_[static_cast<size_t>(row)]; }  ///< G_t
  double compat(RowId row) const { return compats_[static_cast<size_t>(row)]; }        ///< C_t
  std::span<const int32_t> tags(RowId begin, RowId end) const {
    return std::span(tags_).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  }
  /// Which sequence each of these rows belongs to.
  std::span<const int32_t> sequences(RowId begin, RowId end) const {
    return std::span(sequences_)
        .subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  }
  /// Writes y_{:t} of a row of level t = y.size().
  void write_prefix(RowId row, std::span<int32_t> y) const {
    for (size_t t = y.size(); t-- > 0; row = parent(row)) y[t] = tag(row);
  }
  size_t num_bytes() const {
    return parents_.size() * (3 * sizeof(int32_t) + 2 * sizeof(double)) +
           ends_.size() * sizeof(RowId);
  }

 private:
  std::vector<RowId> parents_;
  std::vector<int32_t> tags_, sequences_;
  std::vector<double> log_scores_, compats_;
  std::vector<RowId> ends_;
};

}  // namespace scry
