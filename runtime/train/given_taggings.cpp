#include "runtime/train/given_taggings.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "runtime/smc/check_score.h"
#include "runtime/train/training_error.h"

namespace scry {

GivenTaggings::GivenTaggings(const Program& program, const Parameters& parameters)
    : program_(program),
      stepper_(program, parameters),
      recording_(program),
      scores_(program.precision, 0) {}

const Recording& GivenTaggings::run(const Batch& batch, std::span<const TrainExample> examples) {
  recording_.clear();
  Forest forest(batch.num_sequences());
  recording_.level_states(0).copy_rows(batch.start());
  sequences_.resize(examples.size());
  std::iota(sequences_.begin(), sequences_.end(), 0);
  for (int step = 1; step <= batch.max_length(); ++step) {
    const auto reaching = static_cast<size_t>(batch.num_reaching(step));
    tags_.resize(reaching);
    for (size_t s = 0; s < reaching; ++s) tags_[s] = examples[s].y[static_cast<size_t>(step) - 1];
    StateRows& next = recording_.level_states(step);
    next.resize(static_cast<int64_t>(reaching));
    stepper_.advance(batch, step,
                     {recording_.level_states(step - 1), std::span(sequences_).first(reaching)},
                     tags_, 0, static_cast<int64_t>(reaching), next, &scores_);
    const RowId parents = forest.level_begin(step - 1);
    for (size_t s = 0; s < reaching; ++s) {
      const auto parent = parents + static_cast<RowId>(s);
      const double score = scores_.get(static_cast<int64_t>(s));
      if (!is_score(score)) {
        throw TrainingError(fmt::format("the model's score of example {} at step {} is {}",
                                        examples[s].number + 1, step, score));
      }
      if (score == -INFINITY) {
        throw ExampleError(examples[s].number,
                           fmt::format("step {}: the model gives tag '{}' probability 0", step,
                                       program_.task.y.symbols()[static_cast<size_t>(tags_[s])]));
      }
      forest.add(parent, tags_[s], static_cast<int32_t>(s), forest.log_score(parent) + score, 0);
    }
    forest.end_level();
    // Those that end here have no use for a state.
    const int beyond = step < batch.max_length() ? batch.num_reaching(step + 1) : 0;
    next.resize(beyond);
  }
  for (int s = 0; s < batch.num_sequences(); ++s) {
    const RowId row = forest.level_begin(batch.length(s)) + s;
    recording_.finals.push_back({row, s, 1, forest.log_score(row)});
  }
  recording_.forest = std::move(forest);
  return recording_;
}

}  // namespace scry
