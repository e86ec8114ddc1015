#include "runtime/train/given_taggings.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "runtime/smc/check_score.h"
#include "runtime/train/training_error.h"

namespace scry {

GivenTaggings::GivenTaggings(const Program& program, const Parameters& parameters, bool keeps_cells)
    : program_(program),
      stepper_(program, parameters),
      recording_(program, keeps_cells && program.has_proposal()),
      scores_(program.precision, 0),
      cells_(program),
      states_(program, program.state),
      next_(program, program.state) {}

/// Rows that go on are numbered as the positions at which they do.
void GivenTaggings::follow_states(const Batch& batch, std::span<const TrainExample> examples) {
  recording_.clear();
  tags_.resize(static_cast<size_t>(batch.num_positions()));
  for (int32_t p = 0; p < batch.num_positions(); ++p) {
    const std::span<const int> y = examples[static_cast<size_t>(batch.sequence_at(p))].y;
    tags_[static_cast<size_t>(p)] = y[static_cast<size_t>(batch.step_at(p)) - 1];
  }
  std::vector<int32_t> positions(static_cast<size_t>(batch.num_positions()));
  std::iota(positions.begin(), positions.end(), 0);
  states_.copy_rows(batch.start());
  for (int step = 1; step <= batch.max_length(); ++step) {
    const auto first = static_cast<size_t>(batch.position(step, 0));
    const int here = batch.num_reaching(step), beyond = batch.num_reaching(step + 1);
    states_.resize(here);
    recording_.add_level(states_, std::span(positions).subspan(first, static_cast<size_t>(here)),
                         beyond);
    if (recording_.keeps_cells) recording_.add_cells(program_.num_tags());
    if (beyond == 0) continue;
    // Those that end here have no use for a state.
    next_.resize(beyond);
    stepper_.advance(batch,
                     {states_, std::span(positions).subspan(first, static_cast<size_t>(beyond))},
                     std::span(tags_).subspan(first), 0, beyond, next_);
    std::swap(states_, next_);
  }
}

const Recording& GivenTaggings::follow(const Batch& batch, std::span<const TrainExample> examples) {
  follow_states(batch, examples);
  if (recording_.keeps_cells) compute_cells(batch);
  add_rows(batch);
  return recording_;
}

/// One a position, in the positions' order.
void GivenTaggings::add_rows(const Batch& batch) {
  Forest forest(batch.num_sequences());
  for (int step = 1; step <= batch.max_length(); ++step) {
    const RowId parents = forest.level_begin(step - 1);
    for (int s = 0; s < batch.num_reaching(step); ++s) {
      const int64_t p = batch.position(step, s);
      const int32_t tag = tags_[static_cast<size_t>(p)];
      const bool has_compat = recording_.keeps_cells && step < batch.length(s);
      forest.add(parents + s, tag, s, 0,
                 has_compat ? recording_.compats.get(p * program_.num_tags() + tag) : 0);
    }
    forest.end_level();
  }
  for (int s = 0; s < batch.num_sequences(); ++s)
    recording_.finals.push_back({forest.level_begin(batch.length(s)) + s, s, 1, 0});
  recording_.forest = std::move(forest);
}

const Recording& GivenTaggings::score(const Batch& batch) {
  stepper_.score_tag(batch, {recording_.states, recording_.positions}, tags_, scores_);
  return score(batch, scores_);
}

const Recording& GivenTaggings::score(const Batch& batch, const RealBuffer& known) {
  known_ = &known;
  Forest& forest = recording_.forest;
  const RowId first = forest.level_end(0);
  for (int32_t p = 0; p < batch.num_positions(); ++p)
    forest.set_log_score(first + p, forest.log_score(forest.parent(first + p)) + known.get(p));
  for (Recording::Final& final : recording_.finals) final.log_weight = forest.log_score(final.row);
  return recording_;
}

/// Those that go on after their step come first in each level.
void GivenTaggings::compute_cells(const Batch& batch) {
  const int64_t num_tags = program_.num_tags();
  for (const Recording::Level& level : recording_.levels) {
    const auto where =
        std::span(recording_.positions)
            .subspan(static_cast<size_t>(level.first), static_cast<size_t>(level.count));
    const PrefixRows rows{recording_.states, where, level.first};
    for (RealBuffer* buffer : {&cells_.scores, &cells_.compats}) {
      if (buffer->size() < level.count * num_tags) buffer->reset(level.count * num_tags);
    }
    cells_.next.resize(level.num_ahead * num_tags);
    if (level.num_ahead > 0) {
      stepper_.extend(batch, rows, 0, level.num_ahead, cells_, &recording_.kept, level.first_cells);
    }
    if (level.num_ahead < level.count)
      stepper_.score(batch, rows, level.num_ahead, level.count - level.num_ahead, cells_);
    const auto size = static_cast<size_t>(level.count * num_tags) * program_.real_size();
    std::memcpy(recording_.scores.at(level.first_cells * num_tags), cells_.scores.at(), size);
    std::memcpy(recording_.compats.at(level.first_cells * num_tags), cells_.compats.at(), size);
    recording_.nexts.copy_rows(level.first_cells * num_tags, cells_.next, 0,
                               level.num_ahead * num_tags);
  }
}

void GivenTaggings::check(const Batch& batch, std::span<const TrainExample> examples) const {
  for (int32_t p = 0; p < batch.num_positions(); ++p) {
    const double score = known_->get(p);
    if (is_score(score) && score > -INFINITY) continue;
    const TrainExample& example = examples[static_cast<size_t>(batch.sequence_at(p))];
    if (!is_score(score)) {
      throw TrainingError(fmt::format("the model's score of example {} at step {} is {}",
                                      example.number + 1, batch.step_at(p), score));
    }
    const int32_t tag = tags_[static_cast<size_t>(p)];
    throw ExampleError(
        example.number,
        fmt::format("step {}: the model gives tag '{}' probability 0", batch.step_at(p),
                    program_.task.y.symbols()[static_cast<size_t>(tag)]));
  }
}

const Recording& GivenTaggings::run(const Batch& batch, std::span<const TrainExample> examples) {
  follow(batch, examples);
  score(batch);
  check(batch, examples);
  return recording_;
}

}  // namespace scry
