#include "runtime/smc/beam.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace scry {

Beam::Beam(const SampleOptions& options, const SampleInput& input, int64_t sequence)
    : options_(options),
      keeps_all_(row_of(options.method).selects == Selects::kAll),
      weighs_ahead_(row_of(options.method).weighs == Weighs::kLookahead),
      sequence_(sequence),
      length_(static_cast<int>(input.x.size())) {
  constexpr int64_t kMostRows = std::numeric_limits<RowId>::max() - 1;
  width_ = static_cast<size_t>(keeps_all_ ? std::min(options.max_rows, kMostRows)
                                          : int64_t{options.particles});
  most_ = keeps_all_ ? width_ + 1 : 2 * width_;  // dropped as many at a time as are kept
  steps_.reserve(input.x.size());
}

void Beam::begin(int step) {
  step_ = step;
  num_rows_ = num_candidates_ = 0;
  is_full_ = false;
  entries_.clear();
}

namespace {
bool is_earlier(const Child& a, const Child& b) {
  return a.row != b.row ? a.row < b.row : a.tag < b.tag;
}
}  // namespace

bool Beam::is_better(const Entry& a, const Entry& b) {
  return a.rank != b.rank ? a.rank > b.rank : is_earlier(a.child, b.child);
}

void Beam::propose(const CandidateTable& table) {
  size_t cell = 0;
  for (size_t row = 0; row < table.num_rows(); ++row) {
    for (int32_t tag = 0; tag < table.num_tags; ++tag, ++cell) {
      const double score = table.scores[cell], compat = table.compat(cell);
      double rank = table.row_scores[row] + score;
      if (weighs_ahead_) rank += compat;
      if (!(rank > -INFINITY)) continue;
      ++num_candidates_;
      const Entry entry{rank, {table.first_row + static_cast<int64_t>(row), tag, score, compat}};
      if (is_full_ && !is_better(entry, entries_[width_ - 1])) continue;
      entries_.push_back(entry);
      if (entries_.size() >= most_) drop_the_worse();
    }
  }
  num_rows_ += static_cast<int64_t>(table.num_rows());
}

void Beam::drop_the_worse() {
  if (entries_.size() <= width_) return;
  if (keeps_all_) {
    throw SamplingError(Trouble::kTooManyRows, sequence_, step_,
                        fmt::format("there are more than {} prefixes to enumerate; sample, or "
                                    "raise the limit",
                                    width_));
  }
  const auto last = entries_.begin() + static_cast<std::ptrdiff_t>(width_) - 1;
  std::nth_element(entries_.begin(), last, entries_.end(), is_better);
  entries_.resize(width_);
  is_full_ = true;
}

void Beam::select(std::vector<Child>& children) {
  drop_the_worse();
  for (const Entry& entry : entries_) children.push_back(entry.child);
  if (!keeps_all_) std::sort(children.begin(), children.end(), is_earlier);
  steps_.push_back({.ess = NAN, .resampled = false, .num_rows = num_rows_, .ancestors = {}});
}

void Beam::weigh_rows(const Forest& forest, std::span<const RowId> rows,
                      std::vector<int32_t>& counts, std::vector<double>& log_weights) const {
  counts.clear();
  log_weights.clear();
  for (RowId row : rows) {
    const double ahead = weighs_ahead_ && step_ < length_ ? forest.compat(row) : 0;
    log_weights.push_back((forest.log_score(row) + ahead) / options_.temperature);
  }
}

Ensemble Beam::finish(const Forest& forest, std::span<const RowId> final_rows) {
  Ensemble result;
  result.info = {.method = row_of(options_.method).name,
                 .resampling = {},
                 .particles = 0,
                 .temperature = options_.temperature,
                 .seed = options_.seed,
                 .sequence = sequence_,
                 .beam_width = keeps_all_ ? 0 : options_.particles};
  result.steps = std::move(steps_);
  fill_sequences(forest, final_rows, length_, result);
  weigh_rows(forest, final_rows, result.counts, result.log_weights);
  result.sort();
  result.log_z = log_sum_exp(result.log_weights);
  result.certainty = keeps_all_ ? Certainty::kExact : Certainty::kLowerBound;
  if (keeps_all_) result.log_z_error = 0;
  return result;
}

}  // namespace scry
