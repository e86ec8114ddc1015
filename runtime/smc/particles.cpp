#include "runtime/smc/particles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/smc/resample.h"

namespace scry {
namespace {

/// Where a tagging is retained, the other particles must be drawn independently of it.
SampleOptions options_for(SampleOptions options, const SampleInput& input) {
  if (input.given.empty()) return options;
  options.resampling = Resampling::kMultinomial;
  options.resample_at = ResampleAt::kBefore;
  options.error_bar = false;
  return options;
}

bool resamples_before(const SampleOptions& options) {
  return options.trigger != Trigger::kNever && options.resample_at == ResampleAt::kBefore &&
         row_of(options.method).weighs_before_draw();
}

std::string describe_resampling(const SampleOptions& options) {
  if (options.trigger == Trigger::kNever) return "never";
  const std::string name =
      fmt::format("{}, {} the draw", scheme_names()[static_cast<size_t>(options.resampling)],
                  resamples_before(options) ? "before" : "after");
  if (options.trigger == Trigger::kAlways) return name + ", always";
  return fmt::format("{}, if ESS < {} M", name, options.alpha);
}

/// Where each of these groups begins, if they stand one after the other.
void find_firsts(std::span<const int32_t> counts, std::vector<int32_t>& firsts) {
  firsts.resize(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), firsts.begin(), int32_t{0});
}

}  // namespace

Particles::Particles(const SampleOptions& options, const SampleInput& input, int64_t sequence)
    : options_(options_for(options, input)),
      sequence_(sequence),
      length_(static_cast<int>(input.x.size())),
      given_(input.given),
      proposes_ahead_(row_of(options.method).proposes == Proposes::kLookahead),
      weighs_ahead_(row_of(options.method).weighs == Weighs::kLookahead),
      resamples_before_(resamples_before(options_)),
      draws_by_arithmetic_(options.draws == Draws::kArithmetic),
      rows_(static_cast<size_t>(options.particles), 0),
      places_(rows_.size()),
      uniforms_(rows_.size()),
      row_log_weights_{0},
      row_shares_{1},
      row_counts_{options.particles} {
  steps_.reserve(input.x.size());
  if (!draws_by_arithmetic_) return;
  double offset = 0;
  fill_uniform(options.seed, Purpose::kPropose, static_cast<uint32_t>(sequence), 0, {&offset, 1});
  for (int m = 0; m < options.particles; ++m)
    points_.push_back(std::min((m + offset) / options.particles, 1 - 0x1p-53));
}

void Particles::begin(int step) {
  step_ = step;
  record_ = {};
  record_.num_rows = static_cast<int64_t>(row_counts_.size());
  fill_uniform(options_.seed, Purpose::kPropose, static_cast<uint32_t>(sequence_),
               static_cast<uint32_t>(step), uniforms_);
  row_log_changes_.assign(row_counts_.size(), -INFINITY);
  row_futures_.clear();
  if (!given_.empty()) row_compats_.assign(row_counts_.size(), 0.0);
  is_decided_ = !resamples_before_;
  gather_by_row();
}

/// Particles by their rows, and in their own order on each, so that they can draw.
void Particles::gather_by_row() {
  find_firsts(row_counts_, firsts_);
  by_row_.resize(rows_.size());
  for (size_t m = 0; m < rows_.size(); ++m) {
    if (rows_[m] < 0) continue;
    by_row_[static_cast<size_t>(firsts_[static_cast<size_t>(rows_[m])]++)] =
        static_cast<int32_t>(m);
  }
  std::fill(places_.begin(), places_.end(), -1);
  num_seen_ = 0;
  children_.clear();
  counts_.clear();
  log_weights_.clear();
  shares_.clear();
}

/// Draws y_t from q ∝ exp(g + C) (eq:q-local) for every particle on these rows, which moves from
/// its row to a place; and works out each child's weight (eq:sis).
void Particles::propose(const CandidateTable& table) {
  constexpr int kFewTags = 64;
  const bool weighs_first = !is_decided_ && given_.empty() && table.num_tags <= kFewTags &&
                            table.num_rows() == row_counts_.size();
  wheels_.resize(std::max(wheels_.size(), weighs_first ? table.num_rows() : 1));
  if (weighs_first) {
    for (size_t i = 0; i < table.num_rows(); ++i)
      row_log_changes_[i] = log_change(table, i, wheels_[i].set(table, i, proposes_ahead_));
    resample_rows();
  }
  place_of_tag_.resize(static_cast<size_t>(table.num_tags), -1);
  for (size_t i = 0; i < table.num_rows(); ++i) {
    const auto row = static_cast<size_t>(table.first_row) + i;
    const auto num_here = static_cast<size_t>(row_counts_[row]);
    const auto particles = std::span(by_row_).subspan(num_seen_, num_here);
    num_seen_ += num_here;
    if (!given_.empty()) row_compats_[row] = table.scale * table.row_compats[i];
    if (!given_.empty() && rows_[kRetained] == static_cast<int32_t>(row)) check_retained(table, i);
    if (num_here == 0) continue;  // not copied
    TagWheel& wheel = wheels_[weighs_first ? i : 0];
    if (!weighs_first)
      row_log_changes_[row] = log_change(table, i, wheel.set(table, i, proposes_ahead_));
    const double change = row_log_changes_[row];
    if (change == -INFINITY) continue;
    draw_tags(wheel, particles, static_cast<int32_t>(row));
    for (int32_t tag : reached_) {
      const auto place = static_cast<size_t>(place_of_tag_[static_cast<size_t>(tag)]);
      const size_t cell = i * static_cast<size_t>(table.num_tags) + static_cast<size_t>(tag);
      Child& child = children_[place];
      child.score = table.scores[cell];
      child.compat = table.compat(cell);
      double log_weight = record_.resampled ? 0 : row_log_weights_[row] + change;
      if (proposes_ahead_ && !weighs_ahead_) log_weight -= table.scale * child.compat;
      log_weights_.push_back(log_weight);
      if (draws_by_arithmetic_) shares_.push_back(row_shares_[row] * wheel.share(tag));
      place_of_tag_[static_cast<size_t>(tag)] = -1;
    }
  }
}

/// w_t = w_{t-1} exp(g + C_t - C_{t-1}) / q. Where the same g + C proposes and weighs, it cancels.
/// (Else exp C_t is left to each tag.)
double Particles::log_change(const CandidateTable& table, size_t i, double log_total) const {
  // Nobody is on a row of C_{t-1} = -∞.
  return weighs_ahead_ && log_total > -INFINITY ? log_total - table.scale * table.row_compats[i]
                                                : log_total;
}

/// That the retained particle can go on from here, row i of the table.
void Particles::check_retained(const CandidateTable& table, size_t i) const {
  const auto tag = static_cast<size_t>(given_[static_cast<size_t>(step_) - 1]);
  const size_t cell = i * static_cast<size_t>(table.num_tags) + tag;
  if (!(table.scores[cell] > -INFINITY))
    throw SamplingError(Trouble::kImpossible, sequence_, step_, "the given tag has probability 0");
  if (proposes_ahead_ && !(table.compat(cell) > -INFINITY)) {
    throw SamplingError(Trouble::kImpossible, sequence_, step_,
                        "the lookahead rules the given tag out, so that it cannot be drawn; use "
                        "filter or discrete");
  }
}

/// Fills reached_ with the different tags that these particles of one row go on with, in their
/// order, and makes a place for each.
///
/// Arithmetic draws: the particles' numbers (m + U) / M, 1/M apart, are read as paths through the
/// tree of cumulated q, so that each row gets its share of them, up to one. A row whose share is
/// below one has no use for the digits that are left: its particle draws on by itself. (That must
/// not be asked of the number of particles there, which depends on U.)
void Particles::draw_tags(const TagWheel& wheel, std::span<const int32_t> particles, int32_t row) {
  const bool by_arithmetic =
      draws_by_arithmetic_ && row_shares_[static_cast<size_t>(row)] * num_particles() > 1;
  tags_.clear();
  reached_.clear();
  for (int32_t m : particles) {
    const auto particle = static_cast<size_t>(m);
    int32_t tag = 0;
    if (particle == kRetained && !given_.empty()) {
      tag = given_[static_cast<size_t>(step_) - 1];
    } else if (by_arithmetic) {
      const TagWheel::Hit hit = wheel.hit(points_[particle]);
      tag = hit.tag;
      points_[particle] = hit.within;
    } else {
      tag = wheel.find(uniforms_[particle]);
    }
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
    children_.push_back({row, tag, 0, 0});
  }
  for (size_t i = 0; i < particles.size(); ++i) {
    const int32_t place = place_of_tag_[static_cast<size_t>(tags_[i])];
    places_[static_cast<size_t>(particles[i])] = place;
    ++counts_[static_cast<size_t>(place)];
  }
}

/// Compares the weights of particles, counts[i] of them with log_weights[i] each; returns the
/// effective sample size.
double Particles::weigh(std::span<const double> log_weights, std::span<const int32_t> counts) {
  top_ = -INFINITY;
  for (double log_weight : log_weights) top_ = std::max(top_, log_weight);
  total_ = 0;
  double squares = 0;
  weights_.assign(counts.size(), 0.0);
  for (size_t i = 0; i < counts.size() && top_ > -INFINITY; ++i) {
    const double weight = weights_[i] = std::exp(log_weights[i] - top_);
    total_ += counts[i] * weight;
    squares += counts[i] * weight * weight;
  }
  return squares == 0 ? 0 : total_ * total_ / squares;
}

/// Not at the last step: after its draw there is nothing to come, and before it Ẑ is known already,
/// so that copying could only add noise to all tags but the last.
bool Particles::should_resample(double ess) const {
  if (step_ == length_ || ess == 0 || options_.trigger == Trigger::kNever) return false;
  return options_.trigger == Trigger::kAlways || ess < options_.alpha * num_particles();
}

bool Particles::looks_again() { return !is_decided_ && resample_rows(); }

bool Particles::wants_futures() {
  return !given_.empty() && !is_decided_ && step_ > 1 && should_resample(weigh_all_rows());
}

void Particles::set_futures(std::span<const double> scores) {
  row_futures_.assign(scores.begin(), scores.end());
}

/// The effective sample size of the rows' particles, their changes of weight included.
double Particles::weigh_all_rows() {
  row_log_sums_.resize(row_log_weights_.size());
  for (size_t row = 0; row < row_log_sums_.size(); ++row)
    row_log_sums_[row] = row_log_weights_[row] + row_log_changes_[row];
  return weigh(row_log_sums_, row_counts_);
}

/// All rows' changes of weight are known: resamples if that is due, for all particles to draw after
/// it. Whether it is asked before anything was drawn, or after, it finds the same.
bool Particles::resample_rows() {
  is_decided_ = true;
  record_.ess = weigh_all_rows();
  if (step_ == 1 || !should_resample(record_.ess)) return false;  // all are on one row; or good
  counts_before_ = row_counts_;
  resample_now(weights_, rows_, row_counts_);
  if (!given_.empty()) retain(places_before_);
  if (options_.error_bar) note_rows(counts_before_, weights_);
  gather_by_row();
  return true;
}

/// The retained particle's ancestor: particle m with probability ∝ w_{t-1} exp(G of the given tags
/// to come - C_{t-1}), that is γ_T / γ_{t-1} of its prefix with them, where γ_{t-1} is what w_{t-1}
/// is relative to. (The change of weight by L, which comes before the draw, cancels.)
void Particles::retain(std::span<const int32_t> rows_before) {
  std::vector<double> log_weights(rows_before.size(), -INFINITY);
  double top = -INFINITY;
  for (size_t m = 0; m < rows_before.size(); ++m) {
    if (rows_before[m] < 0) continue;
    const auto row = static_cast<size_t>(rows_before[m]);
    log_weights[m] = row_log_weights_[row] + row_futures_[row] / options_.temperature -
                     (weighs_ahead_ ? row_compats_[row] : 0);
    top = std::max(top, log_weights[m]);
  }
  for (double& w : log_weights) w = std::exp(w - top);
  double uniform = 0;
  fill_uniform(options_.seed, Purpose::kRetain, static_cast<uint32_t>(sequence_),
               static_cast<uint32_t>(step_), {&uniform, 1});
  int32_t& ancestor = record_.ancestors[kRetained];
  resample(Resampling::kMultinomial, log_weights, {&uniform, 1}, {&ancestor, 1});
  --row_counts_[static_cast<size_t>(rows_[kRetained])];
  rows_[kRetained] = rows_before[static_cast<size_t>(ancestor)];
  ++row_counts_[static_cast<size_t>(rows_[kRetained])];
}

void Particles::select(std::vector<Child>& children) {
  const double ess = weigh(log_weights_, counts_);
  if (!resamples_before_) record_.ess = ess;
  if (ess > 0) {
    if (!resamples_before_ && should_resample(ess)) {
      counts_before_ = counts_;
      resample_now(weights_, places_, counts_);
      if (options_.error_bar) note_children(counts_before_);
      std::fill(log_weights_.begin(), log_weights_.end(), 0.0);
    } else if (options_.error_bar) {
      note_children(counts_);
    }
    settle(children);
  }  // else all are dead
  steps_.push_back(std::move(record_));
}

/// Moves particles, of which counts[i] are at place i with this weight each, to the places of their
/// ancestors. Afterwards all weights are 1, and the mean weight so far is part of Ẑ.
void Particles::resample_now(std::span<const double> weights, std::vector<int32_t>& places,
                             std::vector<int32_t>& counts) {
  // Particles in the order of places: like ones together, so that schemes with strata do their
  // best.
  find_firsts(counts, firsts_);
  order_.resize(static_cast<size_t>(firsts_.back() + counts.back()));
  order_weights_.resize(order_.size());
  for (size_t m = 0; m < places.size(); ++m) {
    if (places[m] < 0) continue;
    const auto place = static_cast<size_t>(places[m]);
    const auto at = static_cast<size_t>(firsts_[place]++);
    order_[at] = static_cast<int32_t>(m);
    order_weights_[at] = weights[place];
  }
  // Systematic resampling has one number.
  const bool one = options_.resampling == Resampling::kSystematic;
  double offset = 0;
  std::vector<double> numbers(one ? 0 : places.size());
  const std::span<double> uniforms = one ? std::span(&offset, 1) : std::span(numbers);
  fill_uniform(options_.seed, Purpose::kResample, static_cast<uint32_t>(sequence_),
               static_cast<uint32_t>(step_), uniforms);
  std::vector<int32_t>& ancestors = record_.ancestors;
  ancestors.resize(places.size());
  resample(options_.resampling, order_weights_, uniforms, ancestors);
  for (int32_t& ancestor : ancestors) ancestor = order_[static_cast<size_t>(ancestor)];

  places_before_ = places;
  std::fill(counts.begin(), counts.end(), 0);
  for (size_t m = 0; m < ancestors.size(); ++m) {
    places[m] = places_before_[static_cast<size_t>(ancestors[m])];
    ++counts[static_cast<size_t>(places[m])];
  }
  log_z_ += top_ + std::log(total_ / num_particles());
  record_.resampled = true;
}

/// For the error bar: rows that were weighed, and resampled before anything was drawn.
void Particles::note_rows(std::span<const int32_t> counts_before, std::span<const double> weights) {
  genealogy_.begin_level(Genealogy::Level::kWeighed);
  for (size_t row = 0; row < counts_before.size(); ++row) {
    genealogy_.add({.parent = static_cast<int32_t>(row),
                    .count = counts_before[row],
                    .copies = row_counts_[row],
                    .log_weight_change = row_log_changes_[row],
                    .share = counts_before[row] * weights[row]});
  }
}

/// Likewise who went where, with counts before resampling, if that came after the draw.
void Particles::note_children(std::span<const int32_t> counts_before) {
  const bool resampled_before = record_.resampled && resamples_before_;
  const bool resampled_after = record_.resampled && !resampled_before;
  std::vector<int32_t>& kept = firsts_;  // the number of each row among those that were copied
  kept.clear();
  if (resampled_before) {
    for (int32_t next = 0; int32_t count : row_counts_) kept.push_back(count > 0 ? next++ : -1);
  }
  genealogy_.begin_level(resampled_after ? Genealogy::Level::kResampled : Genealogy::Level::kDrawn);
  for (size_t place = 0; place < counts_.size(); ++place) {
    const auto row = static_cast<size_t>(children_[place].row);
    genealogy_.add(
        {.parent = resampled_before ? kept[row] : static_cast<int32_t>(row),
         .count = counts_before[place],
         .copies = counts_[place],
         .log_weight_change = resampled_before ? 0 : log_weights_[place] - row_log_weights_[row],
         .share = resampled_after ? counts_before[place] * weights_[place] : 0});
  }
}

/// The places that particles are at become the rows of the next level.
void Particles::settle(std::vector<Child>& children) {
  std::vector<int32_t>& row_of_place = firsts_;
  row_of_place.assign(counts_.size(), -1);
  row_log_weights_.clear();
  row_counts_.clear();
  row_shares_.clear();
  for (size_t place = 0; place < counts_.size(); ++place) {
    if (counts_[place] == 0) continue;
    row_of_place[place] = static_cast<int32_t>(children.size());
    children.push_back(children_[place]);
    row_log_weights_.push_back(log_weights_[place]);
    row_counts_.push_back(counts_[place]);
    if (draws_by_arithmetic_) row_shares_.push_back(shares_[place]);
  }
  for (size_t m = 0; m < places_.size(); ++m)
    rows_[m] = places_[m] < 0 ? -1 : row_of_place[static_cast<size_t>(places_[m])];
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
                 .sequence = sequence_,
                 .draws = draws_names()[static_cast<size_t>(options_.draws)]};
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
  if (!given_.empty()) result.caution = kRetainedCaution;
  result.sort();
  return result;
}

/// By the delta method: the standard deviation of Ẑ / Z, and what the weights say about it.
ErrorBar Particles::error_bar(std::span<const StepRecord> steps) const {
  if (steps.empty()) return {Certainty::kExact, 0.0, ""};  // the one tagging of no symbols
  if (draws_by_arithmetic_) {
    return {
        Certainty::kUnknown, std::nullopt,
        "arithmetic draws are not independent, so one run tells no error: use several (--runs)"};
  }
  std::vector<double> weights;  // relative to the heaviest
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
