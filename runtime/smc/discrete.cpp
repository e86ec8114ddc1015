#include "runtime/smc/discrete.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace scry {

Discrete::Discrete(const SampleOptions& options, const SampleInput& input, int64_t sequence)
    : options_(options),
      sequence_(sequence),
      length_(static_cast<int>(input.x.size())),
      given_(input.given),
      row_log_weights_{0} {
  steps_.reserve(input.x.size());
}

void Discrete::begin(int step) {
  step_ = step;
  scores_.clear();
  compats_.clear();
  log_weights_.clear();
  num_seeing_ = num_blind_ = 0;
}

void Discrete::propose(const CandidateTable& table) {
  num_tags_ = table.num_tags;
  scale_ = table.scale;
  scores_.insert(scores_.end(), table.scores.begin(), table.scores.end());
  compats_.insert(compats_.end(), table.compats.begin(), table.compats.end());
  size_t cell = log_weights_.size();
  log_weights_.resize(scores_.size());
  for (size_t row = cell / static_cast<size_t>(num_tags_); cell < scores_.size(); ++row) {
    for (int64_t tag = 0; tag < num_tags_; ++tag, ++cell) {
      const double a = row_log_weights_[row] + scale_ * scores_[cell];
      const double log_weight = compats_.empty() ? a : a + scale_ * compats_[cell];
      log_weights_[cell] = log_weight;
      if (log_weight > -INFINITY) {
        ++num_seeing_;
      } else if (a > -INFINITY) {
        ++num_blind_;
      }
    }
  }
}

/// a = ℓ + g.
double Discrete::log_weight_without_ahead(size_t cell) const {
  return row_log_weights_[cell / static_cast<size_t>(num_tags_)] + scale_ * scores_[cell];
}

void Discrete::select(std::vector<Child>& children) {
  const auto num_rows = static_cast<int64_t>(row_log_weights_.size());
  families_.weigh(log_weights_, static_cast<size_t>(num_tags_));
  if (step_ == length_) log_z_ = families_.members().log_total();
  if (!given_.empty()) find_retained();
  reduce();
  num_left_out_ =
      static_cast<int64_t>(num_seeing_ + num_blind_) - static_cast<int64_t>(kept_.size());
  // Those without a weight are in no comparison.
  double top = -INFINITY, total = 0, squares = 0;
  for (double log_weight : kept_log_weights_) top = std::max(top, log_weight);
  std::vector<double>& next = next_log_weights_;
  next.resize(kept_.size());
  for (size_t n = 0; n < kept_.size(); ++n) {
    const size_t cell = kept_[n];
    const double compat = compats_.empty() ? 0 : compats_[cell];
    const double a = log_weight_without_ahead(cell);
    children.push_back({static_cast<int64_t>(cell) / num_tags_,
                        static_cast<int32_t>(static_cast<int64_t>(cell) % num_tags_), scores_[cell],
                        compat});
    if (log_weights_[cell] == -INFINITY) {  // it was weighed by a
      next[n] = kept_log_weights_[n];
      continue;
    }
    const bool is_heavy = kept_log_weights_[n] == log_weights_[cell];
    next[n] = is_heavy ? a : kept_log_weights_[n] - scale_ * compat;
    const double weight = std::exp(kept_log_weights_[n] - top);
    total += weight;
    squares += weight * weight;
  }
  std::swap(row_log_weights_, next);
  steps_.push_back({.ess = squares == 0 ? 0 : total * total / squares,
                    .resampled = false,
                    .num_rows = num_rows,
                    .ancestors = {}});
}

/// M, or fewer where others would be light: less than `tolerance` of an M-th of all. Not where the
/// set will hold every tagging, and not at the end, where a place costs nothing more.
size_t Discrete::count_places() const {
  const auto most = static_cast<size_t>(options_.particles);
  const bool holds_all = length_ * std::log(num_tags_) <= std::log(options_.particles);
  if (options_.tolerance == 0 || !given_.empty() || num_seeing_ == 0 || step_ == length_ ||
      holds_all)
    return most;
  const size_t enough = families_.members().count_heavier(options_.tolerance / options_.particles);
  return std::min(most, num_blind_ > 0 ? std::max<size_t>(enough, 2) : enough);
}

void Discrete::find_retained() {
  retained_ = retained_row_ * static_cast<size_t>(num_tags_) +
              static_cast<size_t>(given_[static_cast<size_t>(step_) - 1]);
  if (!(log_weight_without_ahead(retained_) > -INFINITY))
    throw SamplingError(Trouble::kImpossible, sequence_, step_, "the given tag has probability 0");
}

/// Fills kept_ and kept_log_weights_: by A, and where that is −∞ by a.
void Discrete::reduce() {
  kept_.clear();
  kept_log_weights_.clear();
  const size_t most = count_places();
  double offsets[4];
  fill_uniform(options_.seed, Purpose::kResample, static_cast<uint32_t>(sequence_),
               static_cast<uint32_t>(step_), offsets);
  const bool is_reduced = num_seeing_ + num_blind_ > most;
  is_exact_ = is_exact_ && !is_reduced;
  const bool retains = !given_.empty();
  if (is_reduced && retains) shuffle_order();
  const bool is_blind = retains && log_weights_[retained_] == -INFINITY;
  const size_t least_blind = most > num_seeing_ ? most - num_seeing_ : most > 1 ? 1 : 0;
  const size_t blind = std::min(num_blind_, least_blind);
  choose(most - blind, std::span(offsets).first<2>(), is_blind ? Reducer::kNone : retained_, kept_,
         kept_log_weights_);
  if (is_blind && blind == 0) {
    throw SamplingError(Trouble::kImpossible, sequence_, step_,
                        "the lookahead rules the given tag out, and a single particle has no place "
                        "for it; use more");
  }
  if (blind > 0) reduce_blind(blind, std::span(offsets).last<2>());
  if (retains) {
    retained_row_ = static_cast<size_t>(std::lower_bound(kept_.begin(), kept_.end(), retained_) -
                                        kept_.begin());
  }
}

/// Of the cells that were weighed last. Families are prefixes.
///
/// Measured against one sweep over all children, prefix by prefix and tags in turn: total variation
/// of the marginals 11.6 → 10.5, 6.3 → 5.6, 3.2 → 3.0 on five mixed words with the lookahead (M =
/// 8, 32, 128), with the same log Ẑ; on untrained lesson 3 1.06 → .70, .55 → .34, .23 → .17; at
/// temperature 3 .42 → .42, .33 → .18, .17 → .07, and there the deviation of log Ẑ less by a third;
/// on the trained tagger the same. Families of .5 κ are as good as of .7; of 1, worse in marginals
/// where M is large. The same offset for all families is far worse.
void Discrete::choose(size_t num_kept, std::span<const double, 2> offsets, size_t retained,
                      std::vector<size_t>& kept, std::vector<double>& kept_log_weights) {
  if (given_.empty()) {
    families_.reduce(num_kept, offsets[0], offsets[1], kept, kept_log_weights);
  } else {
    families_.members().reduce(num_kept, offsets[0], order_, kept, kept_log_weights, retained);
  }
}

/// Likewise of those whose A is −∞, merged with what was kept.
void Discrete::reduce_blind(size_t num_kept, std::span<const double, 2> offsets) {
  std::vector<double> blind_log_weights(log_weights_.size(), -INFINITY);
  for (size_t cell = 0; cell < log_weights_.size(); ++cell) {
    if (log_weights_[cell] == -INFINITY) blind_log_weights[cell] = log_weight_without_ahead(cell);
  }
  std::vector<size_t> cells;
  std::vector<double> log_weights;
  const bool is_retained = retained_ != Reducer::kNone && log_weights_[retained_] == -INFINITY;
  families_.weigh(blind_log_weights, static_cast<size_t>(num_tags_));
  choose(num_kept, offsets, is_retained ? retained_ : Reducer::kNone, cells, log_weights);
  std::vector<size_t> merged(kept_.size() + cells.size());
  std::merge(kept_.begin(), kept_.end(), cells.begin(), cells.end(), merged.begin());
  std::vector<double> merged_log_weights;
  for (size_t i = 0, seeing = 0, dark = 0; i < merged.size(); ++i) {
    const bool is_blind = log_weights_[merged[i]] == -INFINITY;
    merged_log_weights.push_back(is_blind ? log_weights[dark++] : kept_log_weights_[seeing++]);
  }
  kept_ = std::move(merged);
  kept_log_weights_ = std::move(merged_log_weights);
}

/// A random order, by Fisher & Yates.
void Discrete::shuffle_order() {
  order_.resize(log_weights_.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  Random random(derive_seed(options_.seed, UINT32_MAX - 9), static_cast<uint32_t>(sequence_),
                static_cast<uint32_t>(step_));
  for (size_t n = order_.size(); n-- > 1;) {
    const auto other = static_cast<size_t>(random.uniform() * static_cast<double>(n + 1));
    std::swap(order_[n], order_[other]);
  }
}

void Discrete::weigh_rows(const Forest& forest, std::span<const RowId> rows,
                          std::vector<int32_t>& counts, std::vector<double>& log_weights) const {
  counts.clear();
  log_weights = row_log_weights_;
  if (step_ == length_) return;  // C_T = 0
  for (size_t i = 0; i < rows.size(); ++i) log_weights[i] += scale_ * forest.compat(rows[i]);
}

Ensemble Discrete::finish(const Forest& forest, std::span<const RowId> final_rows) {
  Ensemble result;
  result.info = {.method = row_of(options_.method).name,
                 .resampling = {},
                 .particles = options_.particles,
                 .temperature = options_.temperature,
                 .seed = options_.seed,
                 .sequence = sequence_,
                 .tolerance = options_.tolerance};
  result.steps = std::move(steps_);
  fill_sequences(forest, final_rows, length_, result);
  weigh_rows(forest, final_rows, result.counts, result.log_weights);
  result.log_z = log_z_;
  if (is_exact_) {
    result.certainty = Certainty::kExact;
    result.log_z_error = 0;
  } else {
    result.caution = given_.empty()
                         ? "a discrete set tells no error by itself: use several runs (--runs)"
                         : kRetainedCaution;
  }
  result.sort();
  return result;
}

}  // namespace scry
