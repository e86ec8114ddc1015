#include "runtime/interpreter.h"

#include <algorithm>
#include <numeric>

#include "runtime/check_score.h"

namespace scry {

Interpreter::Interpreter(const Program& program, const Parameters& parameters,
                         const SampleOptions& options, Workers* workers)
    : program_(program),
      parameters_(parameters),
      options_(options),
      workers_(workers),
      encoder_(program, parameters),
      looks_ahead_(looks_ahead(options.method) && program.has_proposal()),
      forest_(0),
      states_(program, program.state),
      parents_(program, program.state),
      cells_(program) {
  options_.progress = {};  // copied into each population
  for (int w = 0; w < (workers == nullptr ? 1 : workers->size()); ++w)
    steppers_.emplace_back(program, parameters);
}

void Interpreter::run(std::span<const Job> jobs, Recording* recording) {
  recording_ = recording;
  if (recording != nullptr) recording->clear();
  members_.clear();
  std::vector<std::span<const int>> inputs;
  for (const Job& job : jobs) {
    inputs.push_back(job.input->x);
    members_.push_back(
        {job,
         make_population(options_, job.sequence, static_cast<int>(job.input->x.size())),
         1,
         {},
         false});
  }
  encoder_.run(inputs, looks_ahead_, batch_);
  forest_ = Forest(batch_.num_sequences());
  states_.copy_rows(batch_.start());

  for (int step = 1; step <= batch_.max_length(); ++step) {
    const int reaching = batch_.num_reaching(step);
    const int beyond = step < batch_.max_length() ? batch_.num_reaching(step + 1) : 0;
    int64_t num_beyond = 0;
    for (int s = 0; s < beyond; ++s) num_beyond += members_[static_cast<size_t>(s)].num_rows;
    extend(step, num_beyond);
    int64_t first_row = 0;
    for (int s = 0; s < reaching; ++s) {
      Member& member = members_[static_cast<size_t>(s)];
      const int64_t num_rows = member.num_rows;
      if (!member.failed) choose(member, s, step, first_row);
      first_row += num_rows;
    }
    grow(step);
  }
  if (recording != nullptr) recording->forest = std::move(forest_);
}

/// Fills cells_ for the level's rows: g, and for the first `num_ahead` of them, whose sequences go
/// on, C_t and s_t where there is a lookahead. At t = T, C is 0 and no state is needed.
void Interpreter::extend(int step, int64_t num_ahead) {
  const RowId begin = forest_.level_begin(step - 1);
  const int64_t num_rows = states_.num_rows();
  const PrefixRows rows{states_, forest_.sequences(begin, begin + static_cast<RowId>(num_rows))};
  const int64_t num_cells = num_rows * program_.num_tags();
  if (cells_.scores.size() < num_cells) cells_.scores.reset(num_cells);
  if (!looks_ahead_) num_ahead = 0;
  if (num_ahead > 0) {
    if (cells_.compats.size() < num_cells) cells_.compats.reset(num_cells);
    cells_.next.resize(num_ahead * program_.num_tags());
    share_out(num_ahead, [&](Stepper& stepper, int64_t first, int64_t count) {
      stepper.extend(batch_, step, rows, first, count, cells_);
    });
  }
  share_out(num_rows - num_ahead, [&](Stepper& stepper, int64_t first, int64_t count) {
    stepper.score(batch_, step, rows, num_ahead + first, count, cells_);
  });
  if (recording_ != nullptr) {
    recording_->level_states(step - 1).copy_rows(states_);
    std::vector<double>& logits = recording_->step_logits(step);
    logits.resize(static_cast<size_t>(num_cells));
    const int64_t num_compats = num_ahead * program_.num_tags();
    for (int64_t cell = 0; cell < num_cells; ++cell) {
      logits[static_cast<size_t>(cell)] =
          cells_.scores.get(cell) + (cell < num_compats ? cells_.compats.get(cell) : 0);
    }
  }
}

void Interpreter::share_out(int64_t count,
                            const std::function<void(Stepper&, int64_t, int64_t)>& run) {
  if (count == 0) return;
  if (workers_ == nullptr || count <= Stepper::kChunkRows) return run(steppers_[0], 0, count);
  const int64_t num_chunks = (count + Stepper::kChunkRows - 1) / Stepper::kChunkRows;
  workers_->for_each(num_chunks, [&](int worker, int64_t chunk) {
    const int64_t first = chunk * Stepper::kChunkRows;
    run(steppers_[static_cast<size_t>(worker)], first,
        std::min(Stepper::kChunkRows, count - first));
  });
}

void Interpreter::choose(Member& member, int index, int step, int64_t first_row) {
  member.cells.clear();
  try {
    const bool with_compat = looks_ahead_ && step < batch_.length(index);
    const CandidateTable& table = read_candidates(member, step, first_row, with_compat);
    member.population->choose(table, step, member.cells);
    if (member.cells.empty()) {
      throw SamplingError(
          Trouble::kNoMass, member.job.sequence, step,
          "every particle has weight 0: no tagging that was tried has a score above "
          "-inf");
    }
  } catch (const SamplingError& error) {
    fail(member, error);
  }
}

const CandidateTable& Interpreter::read_candidates(const Member& member, int step,
                                                   int64_t first_row, bool with_compat) {
  const int num_tags = program_.num_tags();
  const auto num_rows = static_cast<size_t>(member.num_rows);
  const double scale = 1 / options_.temperature;
  scores_.resize(num_rows * static_cast<size_t>(num_tags));
  compats_.assign(scores_.size(), 0.0);
  row_scores_.resize(num_rows);
  row_compats_.resize(num_rows);
  const RowId level = forest_.level_begin(step - 1);
  size_t cell = 0;
  for (size_t row = 0; row < num_rows; ++row) {
    const auto level_row = first_row + static_cast<int64_t>(row);
    const RowId id = level + static_cast<RowId>(level_row);
    row_scores_[row] = forest_.log_score(id) * scale;
    row_compats_[row] = forest_.compat(id) * scale;
    for (int tag = 0; tag < num_tags; ++tag, ++cell) {
      const int64_t at = level_row * num_tags + tag;
      if (!member.job.input->allowed.allows(step, tag)) {
        scores_[cell] = -INFINITY;
        continue;
      }
      const double score = cells_.scores.get(at);
      const double compat = with_compat ? cells_.compats.get(at) : 0;
      if (!is_score(score)) {
        throw_not_a_number(program_, member.job.sequence, step, "the model's score", tag, score);
      }
      if (!is_score(compat)) {
        throw_not_a_number(program_, member.job.sequence, step, "the lookahead's compatibility",
                           tag, compat);
      }
      scores_[cell] = score * scale;
      compats_[cell] = compat * scale;
    }
  }
  table_ = {num_tags, scores_, compats_, row_scores_, row_compats_};
  return table_;
}

/// The chosen cells become rows of the forest; those whose sequences go on get their states.
void Interpreter::grow(int step) {
  const RowId parents = forest_.level_begin(step - 1), begin = forest_.size();
  const auto num_tags = static_cast<RowId>(program_.num_tags());
  cell_of_row_.clear();
  int64_t first_row = 0;
  for (int s = 0; s < batch_.num_reaching(step); ++s) {
    Member& member = members_[static_cast<size_t>(s)];
    const bool goes_on = step < batch_.length(s);
    const RowId first_child = forest_.size();
    for (int32_t cell : member.cells) {
      const int64_t at = first_row * num_tags + cell;
      const RowId parent = parents + static_cast<RowId>(at / num_tags);
      forest_.add(parent, static_cast<int32_t>(at % num_tags), s,
                  forest_.log_score(parent) + cells_.scores.get(at),
                  looks_ahead_ && goes_on ? cells_.compats.get(at) : 0);
      if (goes_on) cell_of_row_.push_back(at);
    }
    first_row += member.num_rows;
    member.num_rows = static_cast<int64_t>(member.cells.size());
    if (!goes_on && !member.failed) finish(member, s, first_child);
    member.cells.clear();
  }
  forest_.end_level();
  move_states(step, begin);
}

/// The states of the first rows of a new level, as many as cell_of_row_ has.
void Interpreter::move_states(int step, RowId begin) {
  const auto num_ahead = static_cast<int64_t>(cell_of_row_.size());
  if (looks_ahead_ || num_ahead == 0) {
    states_.resize(num_ahead);
    for (int64_t row = 0; row < num_ahead; ++row)
      states_.copy_row(row, cells_.next, cell_of_row_[static_cast<size_t>(row)]);
    return;
  }
  parents_.resize(num_ahead);
  for (int64_t row = 0; row < num_ahead; ++row) {
    parents_.copy_row(row, states_, cell_of_row_[static_cast<size_t>(row)] / program_.num_tags());
  }
  states_.resize(num_ahead);
  const RowId end = begin + static_cast<RowId>(num_ahead);
  const PrefixRows rows{parents_, forest_.sequences(begin, end)};
  share_out(num_ahead, [&](Stepper& stepper, int64_t first, int64_t count) {
    stepper.advance(batch_, step, rows, forest_.tags(begin, end), first, count, states_);
  });
}

void Interpreter::finish(Member& member, int32_t index, RowId first_row) {
  final_rows_.resize(static_cast<size_t>(member.num_rows));
  std::iota(final_rows_.begin(), final_rows_.end(), first_row);
  if (recording_ == nullptr) {
    member.job.outcome->ensemble = member.population->finish(forest_, final_rows_);
    return;
  }
  member.population->weigh_rows(forest_, final_rows_, final_counts_, final_log_weights_);
  for (size_t i = 0; i < final_rows_.size(); ++i)
    recording_->finals.push_back({final_rows_[i], index, final_counts_[i], final_log_weights_[i]});
}

void Interpreter::fail(Member& member, const SamplingError& error) {
  member.failed = true;
  member.cells.clear();
  member.population.reset();
  member.job.outcome->error = error;
}

}  // namespace scry
