#include "runtime/search/best_paths.h"

#include <algorithm>
#include <cmath>

namespace scry {

BestPaths::BestPaths(const Lattice& lattice)
    : lattice_(lattice), to_go_(lattice.steps.size() + 1), rows_(lattice.steps.size()) {
  to_go_.back() = {0.0};
  for (size_t t = lattice.steps.size(); t-- > 0;) {
    const LatticeStep& step = lattice.steps[t];
    rows_[t].resize(static_cast<size_t>(step.num_rows()));
    to_go_[t].assign(rows_[t].size(), -INFINITY);
    for (size_t row = 0; row < rows_[t].size(); ++row) {
      for (const Arc& arc : step.arcs_from(static_cast<int64_t>(row)))
        to_go_[t][row] =
            std::max(to_go_[t][row], arc.score + to_go_[t + 1][static_cast<size_t>(arc.to)]);
    }
  }
}

/// Its best way is found at once.
BestPaths::Row& BestPaths::meet(size_t t, int64_t number) {
  Row& row = at(t, number);
  if (!row.found.empty() || row.is_exhausted) return row;
  const LatticeStep& step = lattice_.steps[t];
  for (int64_t arc = step.first_arc[static_cast<size_t>(number)];
       arc < step.first_arc[static_cast<size_t>(number) + 1]; ++arc) {
    const Arc& by = step.arcs[static_cast<size_t>(arc)];
    const double score = by.score + to_go_[t + 1][static_cast<size_t>(by.to)];
    if (score > -INFINITY) row.waiting.push_back({score, arc, 0});
  }
  std::make_heap(row.waiting.begin(), row.waiting.end());
  find_next(t, row);
  return row;
}

/// Whether the row after the way that was found last must be asked for its next one, before more
/// can be found here.
bool BestPaths::needs_below(size_t t, const Row& row) const {
  if (t + 1 == rows_.size()) return false;
  const Way& last = row.found.back();
  const int32_t to = lattice_.steps[t].arcs[static_cast<size_t>(last.arc)].to;
  const Row& below = rows_[t + 1][static_cast<size_t>(to)];
  return !below.is_exhausted && static_cast<int64_t>(below.found.size()) <= last.rank + 1;
}

void BestPaths::find_next(size_t t, Row& row) {
  if (!row.found.empty() && t + 1 < rows_.size()) {
    const Way last = row.found.back();
    const Arc& arc = lattice_.steps[t].arcs[static_cast<size_t>(last.arc)];
    const std::vector<Way>& below = at(t + 1, arc.to).found;
    const auto rank = static_cast<size_t>(last.rank) + 1;
    const double score = rank < below.size() ? arc.score + below[rank].score : -INFINITY;
    if (score > -INFINITY) {
      row.waiting.push_back({score, last.arc, last.rank + 1});
      std::push_heap(row.waiting.begin(), row.waiting.end());
    }
  }
  row.is_exhausted = row.waiting.empty();
  if (row.is_exhausted) return;
  std::pop_heap(row.waiting.begin(), row.waiting.end());
  row.found.push_back(row.waiting.back());
  row.waiting.pop_back();
}

/// One more way from the first row. It may need one more of a row of each step after it, of which
/// the last is found first.
void BestPaths::extend_first() {
  std::vector<Row*> rows{&at(0, 0)};
  while (needs_below(rows.size() - 1, *rows.back())) {
    const size_t t = rows.size() - 1;
    const Way& last = rows.back()->found.back();
    Row& below = meet(t + 1, lattice_.steps[t].arcs[static_cast<size_t>(last.arc)].to);
    if (below.is_exhausted || static_cast<int64_t>(below.found.size()) > last.rank + 1) break;
    rows.push_back(&below);
  }
  for (size_t t = rows.size(); t-- > 0;) find_next(t, *rows[t]);
}

std::optional<BestPaths::Path> BestPaths::next() {
  if (rows_.empty()) {
    if (num_given_++ > 0) return std::nullopt;
    return Path{};
  }
  Row& first = meet(0, 0);
  if (num_given_ > 0 && !first.is_exhausted) extend_first();
  if (num_given_ >= static_cast<int64_t>(first.found.size())) return std::nullopt;
  Path path;
  int64_t row = 0, rank = num_given_++;
  for (size_t t = 0; t < rows_.size(); ++t) {
    const Way& way = meet(t, row).found[static_cast<size_t>(rank)];
    const Arc& arc = lattice_.steps[t].arcs[static_cast<size_t>(way.arc)];
    path.tags.push_back(arc.tag);
    path.score += arc.score;
    row = arc.to;
    rank = way.rank;
  }
  return path;
}

}  // namespace scry
