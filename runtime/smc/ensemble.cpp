#include "runtime/smc/ensemble.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/smc/error_bar.h"
#include "runtime/smc/methods.h"

namespace scry {
namespace {

bool tags_less(std::span<const int32_t> a, std::span<const int32_t> b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

/// Weights relative to the heaviest one; all 0 if that is 0.
std::vector<double> relative_weights(std::span<const double> log_weights) {
  std::vector<double> weights(log_weights.size());
  if (log_weights.empty()) return weights;
  const double top = *std::max_element(log_weights.begin(), log_weights.end());
  if (top == -INFINITY) return weights;
  std::transform(log_weights.begin(), log_weights.end(), weights.begin(),
                 [top](double log_weight) { return std::exp(log_weight - top); });
  return weights;
}

/// old[order[0]], old[order[1]], …
template <class T>
std::vector<T> in_order(const std::vector<T>& old, const std::vector<size_t>& order) {
  std::vector<T> result;
  result.reserve(order.size());
  for (size_t i : order) result.push_back(old[i]);
  return result;
}

/// What can be said of Ẑ after several runs.
struct Total {
  double log_z = -INFINITY;
  ErrorBar bar = {};
};

/// The bar of a mean of R values, by their scatter relative to the mean.
ErrorBar judge_runs(double error, double share, double num_values) {
  if (error * error * num_values < 1e-6) {
    return {Certainty::kNoSpread, error, "all runs agree: no bar sees what none of them drew"};
  }
  ErrorBar bar{Certainty::kEstimate, error * student_widening(num_values - 1), ""};
  if (num_values < 3) {
    bar.caution = "two runs tell little of their scatter";
  } else if (share < 0.5) {
    bar.caution = fmt::format("few of the runs make up the sum: {:.1f} of {}", share * num_values,
                              num_values);
  }
  if (!bar.caution.empty()) bar.certainty = Certainty::kUnreliable;
  return bar;
}

bool have_counts(std::span<const Ensemble> runs) {
  return std::ranges::any_of(runs, &Ensemble::has_counts);
}
bool is_lower_bound(std::span<const Ensemble> runs) {
  return std::ranges::any_of(
      runs, [](const Ensemble& run) { return run.certainty == Certainty::kLowerBound; });
}

/// The mean of Ẑ over all runs and, by the delta method, its relative standard error. An ensemble
/// that is itself a mean of n runs counts n-fold, and its scatter as that of a mean of n.
Total mean_of_totals(std::span<const Ensemble> runs, int num_empty) {
  std::vector<double> log_z;
  double num_runs = num_empty;
  for (const Ensemble& run : runs) {
    log_z.push_back(run.size() == 0 ? -INFINITY : run.log_z);
    num_runs += run.info.runs;
  }
  const double top = *std::max_element(log_z.begin(), log_z.end());
  if (top == -INFINITY) return {};
  double mean = 0;
  for (size_t r = 0; r < runs.size(); ++r) {
    mean += runs[r].info.runs * std::exp(log_z[r] - top) / num_runs;
  }

  Total total{.log_z = top + std::log(mean)};
  const auto all = [&](Certainty certainty) {
    return std::all_of(runs.begin(), runs.end(),
                       [=](const Ensemble& run) { return run.certainty == certainty; });
  };
  if (num_empty == 0 && all(Certainty::kExact)) {
    total.bar = {Certainty::kExact, 0.0, ""};
  } else if (is_lower_bound(runs)) {  // the same each time, perhaps, yet not exact
    total.bar.certainty = Certainty::kLowerBound;
  } else {
    double squares = num_empty * mean * mean, second = 0;
    for (size_t r = 0; r < runs.size(); ++r) {
      const double value = std::exp(log_z[r] - top), deviation = value - mean;
      squares += runs[r].info.runs * deviation * deviation;
      second += runs[r].info.runs * value * value;
    }
    const double num_values = static_cast<double>(runs.size()) + num_empty;
    total.bar = judge_runs(std::sqrt(squares / (num_values - 1) / num_runs) / mean,
                           mean * mean * num_runs / second, num_values);
  }
  return total;
}

void check_poolable(std::span<const Ensemble> runs, int num_empty) {
  if (runs.empty()) throw Error("pooling: there are no runs");
  if (num_empty < 0) throw Error(fmt::format("pooling: {} empty runs", num_empty));
  const Ensemble& first = runs.front();
  const bool with_counts = have_counts(runs), bounded = is_lower_bound(runs);
  for (const Ensemble& run : runs) {
    if (run.length != first.length) {
      throw Error(fmt::format("pooling: the runs are on inputs of lengths {} and {}", first.length,
                              run.length));
    }
    if (run.info.temperature != first.info.temperature) {
      throw Error(fmt::format("pooling: the runs have temperatures {} and {}",
                              first.info.temperature, run.info.temperature));
    }
    if (run.info.particles != first.info.particles) {
      throw Error(fmt::format("pooling: the runs have {} and {} particles", first.info.particles,
                              run.info.particles));
    }
    if (with_counts && run.size() > 0 && !run.has_counts())
      throw Error("pooling: some runs are of particles, others are weighted sets");
    if (bounded && run.certainty != Certainty::kLowerBound && run.certainty != Certainty::kExact)
      throw Error("pooling: some runs give lower bounds of log Z, others estimates");
  }
}

/// Adds the sequences of all runs to `pooled`, merged, with the mean of their weights over all of
/// its runs.
void merge_sequences(std::span<const Ensemble> runs, Ensemble& pooled) {
  struct Source {
    const Ensemble* run;
    size_t index;
    std::span<const int32_t> tags() const { return run->sequence(index); }
  };
  std::vector<Source> sources;
  for (const Ensemble& run : runs) {
    for (size_t i = 0; i < run.size(); ++i) sources.push_back({&run, i});
  }
  std::stable_sort(sources.begin(), sources.end(),
                   [](const Source& a, const Source& b) { return tags_less(a.tags(), b.tags()); });

  const bool with_counts = have_counts(runs);
  std::vector<double> log_weights;
  for (auto first = sources.begin(), last = first; first != sources.end(); first = last) {
    const std::span<const int32_t> tags = first->tags();
    log_weights.clear();
    int32_t count = 0;
    for (; last != sources.end() && std::ranges::equal(last->tags(), tags); ++last) {
      const Ensemble& run = *last->run;
      log_weights.push_back(run.log_weights[last->index] + std::log(run.info.runs));
      count += run.count(last->index);
    }
    pooled.tags.insert(pooled.tags.end(), tags.begin(), tags.end());
    pooled.log_weights.push_back(log_sum_exp(log_weights) - std::log(pooled.info.runs));
    pooled.log_scores.push_back(first->run->log_scores[first->index]);
    if (with_counts) pooled.counts.push_back(count);
  }
}

}  // namespace

double log_sum_exp(std::span<const double> values) {
  double top = -INFINITY, total = 0;
  for (double value : values) top = std::max(top, value);
  if (top == -INFINITY) return top;
  for (double value : values) total += std::exp(value - top);
  return top + std::log(total);
}

const char* to_string(Certainty certainty) {
  constexpr const char* kNames[] = {"exact",     "estimate", "unreliable",
                                    "no spread", "unknown",  "lower bound"};
  return kNames[static_cast<size_t>(certainty)];
}

double Ensemble::log_probability(size_t i) const {
  return log_z == -INFINITY ? -INFINITY : log_weights[i] - log_z;
}

double Ensemble::probability(size_t i) const { return std::exp(log_probability(i)); }

double Ensemble::model_log_probability(size_t i) const {
  return log_z == -INFINITY ? -INFINITY : log_scores[i] / info.temperature - log_z;
}

double Ensemble::particle_log_weight(size_t i) const {
  if (!has_counts()) return log_weights[i];
  return log_weights[i] - std::log(counts[i]) + std::log(info.particles) + std::log(info.runs);
}

double Ensemble::ess() const {
  const std::vector<double> weights = relative_weights(log_weights);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < size(); ++i) {
    sum += weights[i];
    squares += weights[i] * weights[i] / count(i);
  }
  return sum == 0 ? 0 : sum * sum / squares;
}

bool Ensemble::is_whole_posterior() const {
  constexpr double kRounding = 1e-6;  // of log Z, and so of the mass that may be missing
  if (certainty != Certainty::kExact || has_counts()) return false;
  std::vector<double> log_terms = log_scores;
  for (double& term : log_terms) term /= info.temperature;
  return log_sum_exp(log_terms) >= log_z - kRounding;
}

int64_t Ensemble::num_rows() const {
  int64_t total = 0;
  for (const StepRecord& step : steps) total += step.num_rows;
  return total;
}

double Ensemble::expectation(const std::function<double(std::span<const int32_t> tags)>& f) const {
  double total = 0;
  for (size_t i = 0; i < size(); ++i) {
    const double p = probability(i);
    if (p > 0) total += p * f(sequence(i));
  }
  return total;
}

RealMatrix<double> Ensemble::tag_marginals(int num_tags) const {
  RealMatrix<double> marginals = RealMatrix<double>::Zero(length, num_tags);
  for (size_t i = 0; i < size(); ++i) {
    const double p = probability(i);
    const std::span<const int32_t> y = sequence(i);
    for (size_t t = 0; t < y.size(); ++t) {
      if (y[t] < 0 || y[t] >= num_tags) {
        throw Error(fmt::format("tag marginals: there is no tag {} among {}", y[t], num_tags));
      }
      marginals(static_cast<Eigen::Index>(t), y[t]) += p;
    }
  }
  return marginals;
}

RealMatrix<double> Ensemble::best_tag_marginals(int num_tags) const {
  if (!known || known->tag_marginals.empty()) return tag_marginals(num_tags);
  return Eigen::Map<const RealMatrix<double>>(known->tag_marginals.data(), length, num_tags);
}

bool Ensemble::has_exact_marginals() const {
  return (known && !known->tag_marginals.empty()) || (size() > 0 && is_whole_posterior());
}

std::optional<double> Ensemble::entropy() const {
  if (known) return known->entropy;
  if (size() == 0 || !is_whole_posterior()) return std::nullopt;
  double entropy = 0;
  for (size_t i = 0; i < size(); ++i) {
    const double log_p = model_log_probability(i), p = std::exp(log_p);
    if (p > 0) entropy -= p * log_p;
  }
  return std::max(0.0, entropy);
}

std::vector<size_t> Ensemble::top(size_t k) const {
  std::vector<size_t> order(size());
  std::iota(order.begin(), order.end(), size_t{0});
  k = std::min(k, size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                    [this](size_t a, size_t b) {
                      if (log_weights[a] != log_weights[b]) return log_weights[a] > log_weights[b];
                      return tags_less(sequence(a), sequence(b));
                    });
  order.resize(k);
  return order;
}

size_t Ensemble::draw(Random& random) const {
  std::vector<double> cumulative = relative_weights(log_weights);
  std::partial_sum(cumulative.begin(), cumulative.end(), cumulative.begin());
  if (cumulative.empty() || cumulative.back() == 0) {
    throw Error("drawing: every sequence of the ensemble has probability 0, or there is none");
  }
  // In (0, total), also when rounded: the sum passes it, and at a weight above 0.
  const double target = random.uniform() * cumulative.back();
  const auto drawn = std::upper_bound(cumulative.begin(), cumulative.end(), target);
  return static_cast<size_t>(drawn - cumulative.begin());
}

void Ensemble::sort() {
  const std::vector<size_t> order = top(size());
  std::vector<int32_t> ordered_tags;
  ordered_tags.reserve(tags.size());
  for (size_t i : order) {
    ordered_tags.insert(ordered_tags.end(), sequence(i).begin(), sequence(i).end());
  }
  tags = std::move(ordered_tags);
  log_weights = in_order(log_weights, order);
  log_scores = in_order(log_scores, order);
  if (has_counts()) counts = in_order(counts, order);
}

void weigh_by_score(Ensemble& ensemble) {
  ensemble.info.weights = weights_names()[static_cast<size_t>(Weights::kScore)];
  ensemble.counts.clear();
  for (size_t i = 0; i < ensemble.size(); ++i)
    ensemble.log_weights[i] = ensemble.log_scores[i] / ensemble.info.temperature;
  const double total = log_sum_exp(ensemble.log_weights);
  for (double& log_weight : ensemble.log_weights) {
    log_weight = total == -INFINITY ? total : log_weight - total + ensemble.log_z;
  }
  ensemble.sort();
}

Ensemble pool_runs(std::span<const Ensemble> runs, int num_empty) {
  check_poolable(runs, num_empty);
  if (runs.size() == 1 && num_empty == 0) return runs.front();
  Ensemble pooled;
  pooled.info = runs.front().info;
  pooled.info.runs = num_empty;
  for (const Ensemble& run : runs) pooled.info.runs += run.info.runs;
  pooled.length = runs.front().length;
  Total total = mean_of_totals(runs, num_empty);
  pooled.log_z = total.log_z;
  pooled.certainty = total.bar.certainty;
  pooled.log_z_error = total.bar.error;
  pooled.caution = std::move(total.bar.caution);
  merge_sequences(runs, pooled);
  pooled.sort();
  return pooled;
}

}  // namespace scry
