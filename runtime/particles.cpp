#include "runtime/particles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/resample.h"

namespace scry {
namespace {

std::string describe_resampling(const SampleOptions& options) {
  constexpr const char* kNames[] = {"multinomial", "residual", "stratified", "systematic"};
  const std::string name = kNames[static_cast<size_t>(options.resampling)];
  if (options.trigger == Trigger::kNever) return "never";
  if (options.trigger == Trigger::kAlways) return name + ", always";
  return fmt::format("{} if ESS < {} M", name, options.alpha);
}

/// The first index with cumulated > target. Few are counted without branches, which the random
/// target would make mispredicted.
int32_t find_slice(const double* cumulated, int size, double target) {
  if (size > 16) {
    return static_cast<int32_t>(std::upper_bound(cumulated, cumulated + size, target) - cumulated);
  }
  int32_t below = 0;
  for (int i = 0; i < size; ++i) below += cumulated[i] <= target ? 1 : 0;
  return below;
}

}  // namespace

Particles::Particles(const SampleOptions& options, int64_t sequence, int length)
    : options_(options),
      sequence_(sequence),
      length_(length),
      proposes_ahead_(options.method != Method::kFilter),
      weighs_ahead_(options.method == Method::kSmooth),
      cells_(static_cast<size_t>(options.particles), 0),
      row_log_weights_{0},
      row_counts_{options.particles},
      uniforms_(cells_.size()) {
  steps_.reserve(static_cast<size_t>(length));
}

void Particles::choose(const CandidateTable& table, int step, std::vector<int32_t>& cells) {
  propose(table, step);
  StepRecord& record = steps_.emplace_back();
  record.num_rows = static_cast<int64_t>(table.num_rows());
  record.ess = weigh();
  if (record.ess == 0) return;  // all are dead
  Genealogy::Level level;
  if (options_.error_bar) level = note_level(table);
  if (should_resample(step, record.ess)) resample_now(step, record, level);
  if (options_.error_bar) genealogy_.add(std::move(level));
  settle(cells);
}

/// Draws y_t from q ∝ exp(g + C) (eq:q-local) for every particle, which moves from its row to a
/// cell; and works out each cell's weight (eq:sis).
void Particles::propose(const CandidateTable& table, int step) {
  const auto num_tags = static_cast<size_t>(table.num_tags);
  cumulated_.resize(table.scores.size());
  cell_log_weights_.resize(table.scores.size());
  for (size_t row = 0; row < table.num_rows(); ++row) {
    const size_t begin = row * num_tags;
    const auto logit = [&](size_t cell) {
      return proposes_ahead_ ? table.scores[cell] + table.compats[cell] : table.scores[cell];
    };
    double top = -INFINITY;
    for (size_t cell = begin; cell < begin + num_tags; ++cell) top = std::max(top, logit(cell));
    double total = 0;
    for (size_t cell = begin; cell < begin + num_tags; ++cell) {
      if (top > -INFINITY) total += std::exp(logit(cell) - top);
      cumulated_[cell] = total;
    }
    const double log_total = top + std::log(total);  // log Σ exp(g + C)
    for (size_t cell = begin; cell < begin + num_tags; ++cell) {
      // w_t = w_{t-1} exp(g + C_t - C_{t-1}) / q. Where the same g + C proposes and weighs, it
      // cancels.
      double log_weight = row_log_weights_[row] + log_total;
      if (weighs_ahead_) {
        log_weight -= table.row_compats[row];
      } else if (proposes_ahead_) {
        log_weight -= table.compats[cell];
      }
      cell_log_weights_[cell] = log_weight;
    }
  }
  fill_uniform(options_.seed, Purpose::kPropose, static_cast<uint32_t>(sequence_),
               static_cast<uint32_t>(step), uniforms_);
  for (int32_t m = 0; m < options_.particles; ++m) {
    int32_t& cell = cells_[static_cast<size_t>(m)];  // a row, so far
    if (cell < 0) continue;
    const double* row = cumulated_.data() + static_cast<size_t>(cell) * num_tags;
    const double total = row[num_tags - 1];
    if (total == 0) {
      cell = -1;
      continue;
    }
    // u ≤ 1 − 2⁻⁵³, so the product is below the total and a slice is found.
    const double target = uniforms_[static_cast<size_t>(m)] * total;
    const int32_t tag = find_slice(row, table.num_tags, target);
    cell = cell * table.num_tags + tag;
  }
}

/// Counts the particles of each cell and compares their weights; returns the effective sample size.
double Particles::weigh() {
  counts_.assign(cell_log_weights_.size(), 0);
  for (int32_t cell : cells_) {
    if (cell >= 0) ++counts_[static_cast<size_t>(cell)];
  }
  top_ = -INFINITY;
  for (size_t cell = 0; cell < counts_.size(); ++cell) {
    if (counts_[cell] > 0) top_ = std::max(top_, cell_log_weights_[cell]);
  }
  total_ = 0;
  double squares = 0;
  cell_weights_.assign(counts_.size(), 0.0);
  for (size_t cell = 0; cell < counts_.size(); ++cell) {
    if (counts_[cell] == 0) continue;
    const double weight = cell_weights_[cell] = std::exp(cell_log_weights_[cell] - top_);
    total_ += counts_[cell] * weight;
    squares += counts_[cell] * weight * weight;
  }
  return squares == 0 ? 0 : total_ * total_ / squares;
}

/// Who went where, before any resampling.
Genealogy::Level Particles::note_level(const CandidateTable& table) const {
  Genealogy::Level level;
  for (size_t cell = 0; cell < counts_.size(); ++cell) {
    if (counts_[cell] == 0) continue;
    const auto parent = static_cast<int32_t>(cell) / table.num_tags;
    level.parents.push_back(parent);
    level.counts.push_back(counts_[cell]);
    level.log_weight_changes.push_back(cell_log_weights_[cell] -
                                       row_log_weights_[static_cast<size_t>(parent)]);
  }
  level.copies = level.counts;
  return level;
}

bool Particles::should_resample(int step, double ess) const {
  if (step == length_ || options_.trigger == Trigger::kNever) return false;
  return options_.trigger == Trigger::kAlways || ess < options_.alpha * num_particles();
}

/// Afterwards all weights are 1, and the mean weight so far is part of Ẑ.
void Particles::resample_now(int step, StepRecord& record, Genealogy::Level& level) {
  // Particles in the order of cells: like ones together, so that schemes with strata do their best.
  std::vector<int32_t> end_of_cell(counts_.size());
  std::partial_sum(counts_.begin(), counts_.end(), end_of_cell.begin());
  order_.resize(static_cast<size_t>(end_of_cell.back()));
  weights_.resize(order_.size());
  for (size_t m = cells_.size(); m-- > 0;) {
    if (cells_[m] < 0) continue;
    const auto cell = static_cast<size_t>(cells_[m]);
    const auto place = static_cast<size_t>(--end_of_cell[cell]);
    order_[place] = static_cast<int32_t>(m);
    weights_[place] = cell_weights_[cell];
  }
  fill_uniform(options_.seed, Purpose::kResample, static_cast<uint32_t>(sequence_),
               static_cast<uint32_t>(step), uniforms_);
  std::vector<int32_t>& ancestors = record.ancestors;
  ancestors.resize(cells_.size());
  resample(options_.resampling, weights_, uniforms_, ancestors);
  for (int32_t& ancestor : ancestors) ancestor = order_[static_cast<size_t>(ancestor)];

  moved_ = cells_;
  copies_.assign(counts_.size(), 0);
  for (size_t m = 0; m < ancestors.size(); ++m) {
    cells_[m] = moved_[static_cast<size_t>(ancestors[m])];
    ++copies_[static_cast<size_t>(cells_[m])];
  }
  level.copies.clear();
  for (size_t cell = 0; options_.error_bar && cell < counts_.size(); ++cell) {
    if (counts_[cell] == 0) continue;
    level.copies.push_back(copies_[cell]);
    level.shares.push_back(counts_[cell] * cell_weights_[cell]);
  }
  std::swap(counts_, copies_);
  log_z_ += top_ + std::log(total_ / num_particles());
  std::fill(cell_log_weights_.begin(), cell_log_weights_.end(), 0.0);
  record.resampled = true;
}

/// The cells that particles are on become the rows of the next level.
void Particles::settle(std::vector<int32_t>& cells) {
  row_of_cell_.assign(counts_.size(), -1);
  row_log_weights_.clear();
  row_counts_.clear();
  for (size_t cell = 0; cell < counts_.size(); ++cell) {
    if (counts_[cell] == 0) continue;
    row_of_cell_[cell] = static_cast<int32_t>(cells.size());
    cells.push_back(static_cast<int32_t>(cell));
    row_log_weights_.push_back(cell_log_weights_[cell]);
    row_counts_.push_back(counts_[cell]);
  }
  for (int32_t& cell : cells_) {
    if (cell >= 0) cell = row_of_cell_[static_cast<size_t>(cell)];
  }
}

void Particles::weigh_rows(const Forest&, std::span<const RowId>, std::vector<int32_t>& counts,
                           std::vector<double>& log_weights) const {
  counts = row_counts_;
  log_weights.clear();
  for (size_t i = 0; i < counts.size(); ++i) {
    log_weights.push_back(log_z_ + row_log_weights_[i] + std::log(counts[i] / num_particles()));
  }
}

Ensemble Particles::finish(const Forest& forest, std::span<const RowId> final_rows) {
  Ensemble result;
  result.info = {.method = kMethodNames[static_cast<size_t>(options_.method)],
                 .resampling = describe_resampling(options_),
                 .particles = options_.particles,
                 .temperature = options_.temperature,
                 .seed = options_.seed,
                 .sequence = sequence_};
  result.steps = std::move(steps_);
  weigh_rows(forest, final_rows, result.counts, result.log_weights);
  fill_sequences(forest, final_rows, length_, result);
  result.log_z = log_sum_exp(result.log_weights);
  if (options_.error_bar) {
    ErrorBar bar = error_bar(result.steps);
    result.certainty = bar.certainty;
    result.log_z_error = bar.error;
    result.caution = std::move(bar.caution);
  }
  result.sort();
  return result;
}

/// By the delta method: the standard deviation of Ẑ / Z, and what the weights say about it.
ErrorBar Particles::error_bar(std::span<const StepRecord> steps) const {
  if (steps.empty()) return {Certainty::kExact, 0.0, ""};  // the one tagging of no symbols
  std::vector<double> weights;                             // relative to the heaviest
  for (double log_weight : row_log_weights_) weights.push_back(std::exp(log_weight - top_));
  RunEvidence evidence{
      .num_particles = num_particles(),
      .relative_variance = genealogy_.relative_variance(options_.particles, options_.resampling),
      .last = spread_of(weights, row_counts_, num_particles())};
  for (const StepRecord& step : steps) {
    if (!step.resampled && &step != &steps.back()) continue;
    evidence.resampled = evidence.resampled || step.resampled;
    evidence.least_share = std::min(evidence.least_share, step.ess / num_particles());
    evidence.naive_variance += 1 / step.ess - 1 / num_particles();
  }
  return judge(evidence);
}

}  // namespace scry
