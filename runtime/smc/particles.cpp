#include "runtime/smc/particles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/smc/resample.h"

namespace scry {
namespace {

std::string describe_resampling(const SampleOptions& options) {
  const std::string name = scheme_names()[static_cast<size_t>(options.resampling)];
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
      proposes_ahead_(row_of(options.method).proposes == Proposes::kLookahead),
      weighs_ahead_(row_of(options.method).weighs == Weighs::kLookahead),
      places_(static_cast<size_t>(options.particles), 0),
      uniforms_(places_.size()),
      row_log_weights_{0},
      row_counts_{options.particles} {
  steps_.reserve(static_cast<size_t>(length));
}

void Particles::begin(int step) {
  step_ = step;
  fill_uniform(options_.seed, Purpose::kPropose, static_cast<uint32_t>(sequence_),
               static_cast<uint32_t>(step), uniforms_);
  // Particles by their rows, and in their own order on each.
  row_of_place_.resize(row_counts_.size());  // where a row's next particle goes
  std::exclusive_scan(row_counts_.begin(), row_counts_.end(), row_of_place_.begin(), int32_t{0});
  by_row_.resize(places_.size());
  for (size_t m = 0; m < places_.size(); ++m) {
    if (places_[m] < 0) continue;
    const auto place = static_cast<size_t>(row_of_place_[static_cast<size_t>(places_[m])]++);
    by_row_[place] = static_cast<int32_t>(m);
  }
  num_seen_ = 0;
  parents_.clear();
  counts_.clear();
  log_weights_.clear();
}

/// Draws y_t from q ∝ exp(g + C) (eq:q-local) for every particle on these rows, which moves from
/// its row to a place; and works out each child's weight (eq:sis).
void Particles::propose(const CandidateTable& table, std::vector<Placed>& placed) {
  const auto num_tags = static_cast<size_t>(table.num_tags);
  cumulated_.resize(num_tags);
  place_of_tag_.resize(num_tags, -1);
  for (size_t i = 0; i < table.num_rows(); ++i) {
    const auto row = static_cast<size_t>(table.first_row) + i;
    const auto num_here = static_cast<size_t>(row_counts_[row]);
    const auto particles = std::span(by_row_).subspan(num_seen_, num_here);
    num_seen_ += num_here;
    const double log_total = cumulate(table, i);  // log Σ exp(g + C)
    if (cumulated_.back() == 0) {
      for (int32_t m : particles) places_[static_cast<size_t>(m)] = -1;
      continue;
    }
    draw_tags(particles, static_cast<int32_t>(row));
    for (int32_t tag : reached_) {
      const size_t cell = i * num_tags + static_cast<size_t>(tag);
      // w_t = w_{t-1} exp(g + C_t - C_{t-1}) / q. Where the same g + C proposes and weighs, it
      // cancels.
      double log_weight = row_log_weights_[row] + log_total;
      if (weighs_ahead_) {
        log_weight -= table.row_compats[i];
      } else if (proposes_ahead_) {
        log_weight -= table.compat(cell);
      }
      log_weights_.push_back(log_weight);
      placed.push_back({static_cast<int64_t>(cell), place_of_tag_[static_cast<size_t>(tag)]});
      place_of_tag_[static_cast<size_t>(tag)] = -1;
    }
  }
}

/// Fills cumulated_ with exp(g + C) of a row's tags, up to the factor exp(top); returns the log of
/// their sum.
double Particles::cumulate(const CandidateTable& table, size_t row) {
  const size_t num_tags = cumulated_.size();
  const double* scores = table.scores.data() + row * num_tags;
  double* const logits = cumulated_.data();
  if (proposes_ahead_ && !table.compats.empty()) {
    const double* compats = table.compats.data() + row * num_tags;
    for (size_t tag = 0; tag < num_tags; ++tag) logits[tag] = scores[tag] + compats[tag];
  } else {
    std::copy_n(scores, num_tags, logits);
  }
  double top = -INFINITY;
  for (size_t tag = 0; tag < num_tags; ++tag) top = std::max(top, logits[tag]);
  double total = 0;
  for (size_t tag = 0; tag < num_tags; ++tag) {
    if (top > -INFINITY) total += std::exp(logits[tag] - top);
    cumulated_[tag] = total;
  }
  return top + std::log(total);
}

/// Fills reached_ with the different tags that these particles of one row go on with, in their
/// order, and makes a place for each.
void Particles::draw_tags(std::span<const int32_t> particles, int32_t row) {
  tags_.clear();
  reached_.clear();
  for (int32_t m : particles) {
    // u ≤ 1 − 2⁻⁵³, so the product is below the total and a slice is found.
    const double target = uniforms_[static_cast<size_t>(m)] * cumulated_.back();
    const int32_t tag = find_slice(cumulated_.data(), static_cast<int>(cumulated_.size()), target);
    tags_.push_back(tag);
    int32_t& place = place_of_tag_[static_cast<size_t>(tag)];
    if (place >= 0) continue;
    place = 0;
    reached_.push_back(tag);
  }
  std::sort(reached_.begin(), reached_.end());
  for (int32_t tag : reached_) {
    place_of_tag_[static_cast<size_t>(tag)] = static_cast<int32_t>(counts_.size());
    counts_.push_back(0);
    parents_.push_back(row);
  }
  for (size_t i = 0; i < particles.size(); ++i) {
    const int32_t place = place_of_tag_[static_cast<size_t>(tags_[i])];
    places_[static_cast<size_t>(particles[i])] = place;
    ++counts_[static_cast<size_t>(place)];
  }
}

void Particles::select(std::vector<int32_t>& places) {
  StepRecord& record = steps_.emplace_back();
  record.num_rows = static_cast<int64_t>(row_counts_.size());
  record.ess = weigh();
  if (record.ess == 0) return;  // all are dead
  Genealogy::Level level;
  if (options_.error_bar) level = note_level();
  if (should_resample(record.ess)) resample_now(record, level);
  if (options_.error_bar) genealogy_.add(std::move(level));
  settle(places);
}

/// Compares the particles' weights; returns the effective sample size.
double Particles::weigh() {
  top_ = -INFINITY;
  for (double log_weight : log_weights_) top_ = std::max(top_, log_weight);
  total_ = 0;
  double squares = 0;
  weights_.resize(counts_.size());
  for (size_t place = 0; place < counts_.size(); ++place) {
    const double weight = weights_[place] = std::exp(log_weights_[place] - top_);
    total_ += counts_[place] * weight;
    squares += counts_[place] * weight * weight;
  }
  return squares == 0 ? 0 : total_ * total_ / squares;
}

/// Who went where, before any resampling.
Genealogy::Level Particles::note_level() const {
  Genealogy::Level level;
  level.parents = parents_;
  level.counts = level.copies = counts_;
  level.log_weight_changes.reserve(counts_.size());
  for (size_t place = 0; place < counts_.size(); ++place) {
    level.log_weight_changes.push_back(log_weights_[place] -
                                       row_log_weights_[static_cast<size_t>(parents_[place])]);
  }
  return level;
}

bool Particles::should_resample(double ess) const {
  if (step_ == length_ || options_.trigger == Trigger::kNever) return false;
  return options_.trigger == Trigger::kAlways || ess < options_.alpha * num_particles();
}

/// Afterwards all weights are 1, and the mean weight so far is part of Ẑ.
void Particles::resample_now(StepRecord& record, Genealogy::Level& level) {
  // Particles in the order of places: like ones together, so that schemes with strata do their
  // best.
  copies_.resize(counts_.size());  // where a place's next particle goes
  std::exclusive_scan(counts_.begin(), counts_.end(), copies_.begin(), int32_t{0});
  order_.resize(static_cast<size_t>(copies_.back() + counts_.back()));
  order_weights_.resize(order_.size());
  for (size_t m = 0; m < places_.size(); ++m) {
    if (places_[m] < 0) continue;
    const auto place = static_cast<size_t>(places_[m]);
    const auto at = static_cast<size_t>(copies_[place]++);
    order_[at] = static_cast<int32_t>(m);
    order_weights_[at] = weights_[place];
  }
  fill_uniform(options_.seed, Purpose::kResample, static_cast<uint32_t>(sequence_),
               static_cast<uint32_t>(step_), uniforms_);
  std::vector<int32_t>& ancestors = record.ancestors;
  ancestors.resize(places_.size());
  resample(options_.resampling, order_weights_, uniforms_, ancestors);
  for (int32_t& ancestor : ancestors) ancestor = order_[static_cast<size_t>(ancestor)];

  moved_ = places_;
  copies_.assign(counts_.size(), 0);
  for (size_t m = 0; m < ancestors.size(); ++m) {
    places_[m] = moved_[static_cast<size_t>(ancestors[m])];
    ++copies_[static_cast<size_t>(places_[m])];
  }
  if (options_.error_bar) {
    level.copies = copies_;
    for (size_t place = 0; place < counts_.size(); ++place)
      level.shares.push_back(counts_[place] * weights_[place]);
  }
  std::swap(counts_, copies_);
  log_z_ += top_ + std::log(total_ / num_particles());
  std::fill(log_weights_.begin(), log_weights_.end(), 0.0);
  record.resampled = true;
}

/// The places that particles are at become the rows of the next level.
void Particles::settle(std::vector<int32_t>& places) {
  row_of_place_.assign(counts_.size(), -1);
  row_log_weights_.clear();
  row_counts_.clear();
  for (size_t place = 0; place < counts_.size(); ++place) {
    if (counts_[place] == 0) continue;
    row_of_place_[place] = static_cast<int32_t>(places.size());
    places.push_back(static_cast<int32_t>(place));
    row_log_weights_.push_back(log_weights_[place]);
    row_counts_.push_back(counts_[place]);
  }
  for (int32_t& place : places_) {
    if (place >= 0) place = row_of_place_[static_cast<size_t>(place)];
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
  result.info = {.method = row_of(options_.method).name,
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
