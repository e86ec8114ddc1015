#include "runtime/beam.h"

#include <fmt/format.h>

#include <algorithm>

namespace scry {

Beam::Beam(const SampleOptions& options, int64_t sequence, int length)
    : options_(options), sequence_(sequence), length_(length) {
  steps_.reserve(static_cast<size_t>(length));
}

void Beam::choose(const CandidateTable& table, int step, std::vector<int32_t>& cells) {
  ranks_.resize(table.scores.size());
  for (size_t cell = 0; cell < ranks_.size(); ++cell) {
    if (!table.viable(cell)) continue;
    const size_t row = cell / static_cast<size_t>(table.num_tags);
    ranks_[cell] = table.row_scores[row] + table.scores[cell];
    if (options_.method == Method::kBeamAhead) ranks_[cell] += table.compats[cell];
    cells.push_back(static_cast<int32_t>(cell));
  }
  const auto width = static_cast<size_t>(options_.particles);
  if (options_.method == Method::kEnumerate) {
    if (static_cast<int64_t>(cells.size()) > options_.max_rows) {
      throw SamplingError(Trouble::kTooManyRows, sequence_, step,
                          fmt::format("there are more than {} prefixes to enumerate; sample, or "
                                      "raise the limit",
                                      options_.max_rows));
    }
  } else if (cells.size() > width) {
    const auto better = [&](int32_t a, int32_t b) {
      const double rank_a = ranks_[static_cast<size_t>(a)], rank_b = ranks_[static_cast<size_t>(b)];
      return rank_a != rank_b ? rank_a > rank_b : a < b;
    };
    std::nth_element(cells.begin(), cells.begin() + options_.particles, cells.end(), better);
    cells.resize(width);
    std::sort(cells.begin(), cells.end());
  }
  steps_.push_back({.ess = NAN,
                    .resampled = false,
                    .num_rows = static_cast<int64_t>(table.num_rows()),
                    .ancestors = {}});
}

void Beam::weigh_rows(const Forest& forest, std::span<const RowId> final_rows,
                      std::vector<int32_t>& counts, std::vector<double>& log_weights) const {
  counts.assign(final_rows.size(), 1);
  log_weights.clear();
  for (RowId row : final_rows) log_weights.push_back(forest.log_score(row) / options_.temperature);
}

Ensemble Beam::finish(const Forest& forest, std::span<const RowId> final_rows) {
  Ensemble result;
  const bool exact = options_.method == Method::kEnumerate;
  result.info = {.method = kMethodNames[static_cast<size_t>(options_.method)],
                 .resampling = {},
                 .particles = 0,
                 .temperature = options_.temperature,
                 .seed = options_.seed,
                 .sequence = sequence_,
                 .beam_width = exact ? 0 : options_.particles};
  result.steps = std::move(steps_);
  fill_sequences(forest, final_rows, length_, result);
  weigh_rows(forest, final_rows, result.counts, result.log_weights);
  result.sort();
  result.log_z = log_sum_exp(result.log_weights);
  result.certainty = exact ? Certainty::kExact : Certainty::kLowerBound;
  if (exact) result.log_z_error = 0;
  return result;
}

}  // namespace scry
