#include "runtime/train/score_taggings.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "runtime/smc/end_of_sequence.h"

namespace scry {
namespace {

void check(const Task& task, std::span<const int> x, std::span<const int> y) {
  if (x.size() != y.size()) throw Error(fmt::format("{} symbols but {} tags", x.size(), y.size()));
  if (x.size() > static_cast<size_t>(kMaxLength))
    throw Error(fmt::format("{} symbols, but a sequence has at most {}", x.size(), kMaxLength));
  for (size_t t = 0; t < x.size(); ++t) {
    if (x[t] < 0 || x[t] >= task.x.size() || y[t] < 0 || y[t] >= task.y.size()) {
      throw Error(fmt::format(
          "step {}: the pair ({}, {}) is outside the alphabets of {} symbols and {} tags", t + 1,
          x[t], y[t], task.x.size(), task.y.size()));
    }
    for (const auto& fault : {explain_early_end(x[t], task.x), explain_early_end(y[t], task.y)}) {
      if (fault) throw Error(fmt::format("step {}: {}", t + 1, *fault));
    }
  }
}

}  // namespace

TaggingScorer::TaggingScorer(const Program& program, const Parameters& parameters)
    : program_(program),
      encoder_(program, parameters),
      taggings_(program, parameters, true),
      batch_(program) {}

TaggingScore TaggingScorer::score(std::span<const int> x, std::span<const int> y) {
  const Task& task = program_.task;
  check(task, without_end(x, task.x), without_end(y, task.y));
  x_ = with_end(x, task.x);
  y_ = with_end(y, task.y);
  const std::span<const int> input(x_);
  encoder_.run({&input, 1}, program_.has_proposal(), batch_);
  if (x_.empty()) return {};
  const TrainExample example{x_, y_, 0};
  taggings_.follow(batch_, {&example, 1});
  recording_ = &taggings_.score(batch_);
  TaggingScore score;
  score.log_score = recording_->finals.front().log_weight;
  if (!program_.has_proposal()) return score;
  score.log_proposal = log_proposal();
  score.to_go = batch_.to_go(0, 0);
  return score;
}

/// Σ g + C_t - log Σ_y exp(g + C_t) (eq:q-local), with C_T = 0.
double TaggingScorer::log_proposal() const {
  const auto num_tags = static_cast<size_t>(program_.num_tags());
  double total = 0;
  std::vector<double> logits(num_tags);
  for (int t = 1; t <= batch_.max_length(); ++t) {
    const auto first = static_cast<int64_t>(batch_.position(t, 0)) * program_.num_tags();
    for (size_t tag = 0; tag < num_tags; ++tag) {
      const int64_t cell = first + static_cast<int64_t>(tag);
      logits[tag] = recording_->scores.get(cell) +
                    (t < batch_.max_length() ? recording_->compats.get(cell) : 0);
    }
    const double norm = log_sum_exp(logits);
    if (norm == -INFINITY) return -INFINITY;
    total += logits[static_cast<size_t>(y_[static_cast<size_t>(t) - 1])] - norm;
  }
  return total;
}

}  // namespace scry
