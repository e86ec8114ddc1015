#include "runtime/smc/interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "runtime/smc/check_score.h"
#include "runtime/smc/memory.h"

namespace scry {

namespace {

/// Converts kernels' numbers; says whether all of them are scores.
template <class Real>
bool read_scores(const Real* from, int64_t count, double* to) {
  int bad = 0;
  for (int64_t i = 0; i < count; ++i) {
    bad |= from[i] < static_cast<Real>(INFINITY) ? 0 : 1;
    to[i] = static_cast<double>(from[i]);
  }
  return bad == 0;
}

/// Without `progress`, as they are copied into each population; with a bound for memory: where none
/// was set, a core's share.
SampleOptions settle_options(SampleOptions options) {
  options.progress = {};
  if (options.memory == 0)
    options.memory = default_memory() / std::max(1u, std::thread::hardware_concurrency());
  return options;
}

}  // namespace

Interpreter::Interpreter(const Program& program, const Parameters& parameters,
                         const SampleOptions& options, Workers* workers)
    : program_(program),
      options_(settle_options(options)),
      workers_(workers),
      encoder_(program, parameters),
      looks_ahead_(row_of(options.method).looks_ahead() && program.has_proposal()),
      advances_(!keeps_next_states(program, options)),
      batch_(program),
      forest_(0),
      states_(program, program.state),
      next_(program, program.state),
      cells_(program),
      future_states_(program, program.state),
      next_futures_(program, program.state),
      future_scores_(program.precision, 0) {
  for (int w = 0; w < (workers == nullptr ? 1 : workers->size()); ++w)
    steppers_.emplace_back(program, parameters);
}

void Interpreter::set_options(const SampleOptions& options) {
  options_ = settle_options(options);
  looks_ahead_ = row_of(options.method).looks_ahead() && program_.has_proposal();
  advances_ = !keeps_next_states(program_, options);
}

void Interpreter::release() {
  members_ = std::vector<Member>();
  batch_ = Batch(program_);
  forest_ = Forest(0);
  for (StateRows* rows : {&states_, &next_, &future_states_, &next_futures_})
    *rows = StateRows(program_, program_.state);
  cells_ = Cells(program_);
  children_ = std::vector<Child>();
}

/// Not many megabytes, as candidates are written by kernels and read at once by populations; but so
/// many that only large levels take more than one part.
int64_t Interpreter::choose_part_rows() const {
  constexpr double kPartBytes = 32 << 20;
  const double bytes = std::min(kPartBytes, static_cast<double>(options_.memory) / 4);
  return std::max<int64_t>(
      1, static_cast<int64_t>(bytes / candidate_bytes(program_, options_, keeps_states_)));
}

void Interpreter::run(std::span<const Job> jobs, Recording* recording, const LevelWatch& watch) {
  recording_ = recording;
  watch_ = watch ? &watch : nullptr;
  recorded_bytes_ = 0;
  keeps_states_ = !advances_ || (looks_ahead_ && recording != nullptr && recording->keeps_cells);
  part_rows_ = choose_part_rows();
  if (recording != nullptr) recording->clear();
  members_.clear();
  std::vector<std::span<const int>> inputs;
  for (const Job& job : jobs) {
    inputs.push_back(job.input->x);
    members_.push_back(
        {job, row_of(options_.method).make(options_, *job.input, job.sequence), 1, false});
  }
  encoder_.run(inputs, looks_ahead_, batch_);
  forest_ = Forest(batch_.num_sequences());
  states_.copy_rows(batch_.start());
  for (int step = 1; step <= batch_.max_length(); ++step) run_step(step);
  if (recording != nullptr) recording->forest = std::move(forest_);
}

/// One level to the next: members together as far as a part holds their rows, which are then
/// computed by the same calls of kernels; one that no part holds alone.
void Interpreter::run_step(int step) {
  const int reaching = batch_.num_reaching(step);
  const int beyond = step < batch_.max_length() ? batch_.num_reaching(step + 1) : 0;
  num_ahead_ = 0;
  for (int s = 0; looks_ahead_ && s < beyond; ++s)
    num_ahead_ += members_[static_cast<size_t>(s)].num_rows;
  const RowId begin = forest_.size(), before = forest_.level_begin(step - 1);
  find_positions(step, before, before + static_cast<RowId>(states_.num_rows()));
  if (recording_ != nullptr) record_level();
  next_.resize(0);
  parent_rows_.clear();
  const auto rows_of = [&](int index) { return members_[static_cast<size_t>(index)].num_rows; };
  int64_t first_row = 0;
  for (int index = 0, end = 0; index < reaching;) {
    int64_t num_rows = rows_of(end++);
    while (end < reaching && num_rows + rows_of(end) <= part_rows_) num_rows += rows_of(end++);
    if (num_rows <= part_rows_) extend({first_row, first_row + num_rows});
    for (; index < end; ++index) {
      const int64_t end_row = first_row + rows_of(index);
      run_member(index, step, {first_row, end_row});
      first_row = end_row;
    }
  }
  forest_.end_level();
  move_states(step, begin);
}

/// Fills cells_ for a part of the level's rows: g, and for those below num_ahead_, whose sequences
/// go on, C_t and s_t where there is a lookahead. At t = T, C is 0 and no state is needed.
void Interpreter::extend(Part part) {
  part_ = part;
  const PrefixRows rows{
      states_,
      std::span(positions_)
          .subspan(static_cast<size_t>(part.begin), static_cast<size_t>(part.size())),
      part.begin};
  const int64_t num_tags = program_.num_tags(), num_cells = part.size() * num_tags;
  const int64_t ahead = std::clamp<int64_t>(num_ahead_ - part.begin, 0, part.size());
  if (cells_.scores.size() < num_cells) cells_.scores.reset(num_cells);
  if (ahead > 0) {
    if (cells_.compats.size() < num_cells) cells_.compats.reset(num_cells);
    cells_.next.resize(keeps_states_ ? ahead * num_tags : 0);
    const int64_t first_cells = recording_ == nullptr ? -1 : recording_->levels.back().first_cells;
    StateRows* const kept = first_cells < 0 ? nullptr : &recording_->kept;
    const int64_t first_kept = first_cells + part.begin;
    share_out(ahead, steppers_[0].extend_chunk(),
              [&](Stepper& stepper, int64_t first, int64_t count) {
                stepper.extend(batch_, rows, first, count, cells_, kept, first_kept);
              });
  }
  share_out(part.size() - ahead, steppers_[0].score_chunk(),
            [&](Stepper& stepper, int64_t first, int64_t count) {
              stepper.score(batch_, rows, ahead + first, count, cells_);
            });
  if (recording_ != nullptr) record_cells(part, ahead);
}

/// Where rows that go on are extended.
void Interpreter::find_positions(int step, RowId begin, RowId end) {
  positions_.clear();
  for (int32_t sequence : forest_.sequences(begin, end))
    positions_.push_back(batch_.position(step, sequence));
}

/// Cells are kept as far as half of the memory holds them; else they can be computed again.
void Interpreter::record_level() {
  recording_->add_level(states_, positions_, num_ahead_);
  if (!recording_->keeps_cells) return;
  const double bytes =
      static_cast<double>(states_.num_rows()) *
      (static_cast<double>(program_.num_tags()) *
           static_cast<double>(2 * program_.real_size() + row_bytes(program_, program_.state)) +
       static_cast<double>(row_bytes(program_, program_.kept)));
  if (recorded_bytes_ + bytes > static_cast<double>(options_.memory) / 2) return;
  recorded_bytes_ += bytes;
  recording_->add_cells(program_.num_tags());
}

/// Of a part of the last level, of which the first `num_ahead` rows have C.
void Interpreter::record_cells(Part part, int64_t num_ahead) {
  const Recording::Level& level = recording_->levels.back();
  const int64_t num_tags = program_.num_tags();
  if (recording_->keeps_log_sums) {
    recording_->set_log_sums(level.first + part.begin, cells_.scores, cells_.compats, part.size(),
                             num_ahead, program_.num_tags());
  }
  if (level.first_cells < 0) return;
  const int64_t first = (level.first_cells + part.begin) * num_tags;
  const auto copy = [&](const RealBuffer& from, RealBuffer& to, int64_t num_rows) {
    std::memcpy(to.at(first), from.at(),
                static_cast<size_t>(num_rows * num_tags) * program_.real_size());
  };
  copy(cells_.scores, recording_->scores, part.size());
  if (num_ahead == 0) return;
  copy(cells_.compats, recording_->compats, num_ahead);
  recording_->nexts.copy_rows(first, cells_.next, 0, num_ahead * num_tags);
}

void Interpreter::share_out(int64_t count, int64_t chunk,
                            const std::function<void(Stepper&, int64_t, int64_t)>& run) {
  if (count == 0) return;
  if (workers_ == nullptr || count <= chunk) return run(steppers_[0], 0, count);
  const int64_t num_chunks = (count + chunk - 1) / chunk;
  workers_->for_each(num_chunks, [&](int worker, int64_t task) {
    const int64_t first = task * chunk;
    run(steppers_[static_cast<size_t>(worker)], first, std::min(chunk, count - first));
  });
}

/// One member's step. `rows` are its own.
void Interpreter::run_member(int index, int step, Part rows) {
  Member& member = members_[static_cast<size_t>(index)];
  children_.clear();
  if (!member.failed) {
    try {
      choose(member, index, step, rows);
    } catch (const SamplingError& error) {
      member.failed = true;
      member.population.reset();
      member.job.outcome->error = error;
      children_.clear();
    }
  }
  grow(member, index, step, rows);
}

/// Fills children_ with those that the member keeps.
void Interpreter::choose(Member& member, int index, int step, Part rows) {
  member.population->begin(step);
  show(member, index, step, rows);
  if (member.population->wants_futures())
    member.population->set_futures(score_futures(member, index, step, rows));
  while (member.population->looks_again()) show(member, index, step, rows);
  member.population->select(children_);
  if (children_.empty()) {
    throw SamplingError(Trouble::kNoMass, member.job.sequence, step,
                        "every particle has weight 0: no tagging that was tried has a score above "
                        "-inf");
  }
  if (!forest_.has_room(static_cast<int64_t>(children_.size()))) {
    throw SamplingError(Trouble::kTooManyRows, member.job.sequence, step,
                        "there are more prefixes than the 2147483647 that can be numbered; use "
                        "fewer particles or smaller batches");
  }
}

/// G of the given tagging's tags from this step on, after each of the member's rows: all rows
/// together, a step at a time.
std::span<const double> Interpreter::score_futures(const Member& member, int index, int step,
                                                   Part rows) {
  const int64_t num_rows = rows.size();
  const int length = batch_.length(index);
  futures_.assign(static_cast<size_t>(num_rows), 0.0);
  future_states_.resize(num_rows);
  future_states_.copy_rows(0, states_, rows.begin, num_rows);
  for (int at = step; at <= length; ++at) {
    const std::vector<int32_t> positions(futures_.size(), batch_.position(at, index));
    const std::vector<int32_t> tags(futures_.size(),
                                    member.job.input->given[static_cast<size_t>(at) - 1]);
    const PrefixRows prefixes{future_states_, positions};
    steppers_[0].score_tag(batch_, prefixes, tags, future_scores_);
    for (int64_t row = 0; row < num_rows; ++row) {
      const double score = future_scores_.get(row);
      if (!is_score(score)) {
        throw_not_a_number(program_, member.job.sequence, at, "the model's score", tags.front(),
                           score);
      }
      futures_[static_cast<size_t>(row)] += score;
    }
    if (at == length) break;
    next_futures_.resize(num_rows);
    share_out(num_rows, steppers_[0].advance_chunk(),
              [&](Stepper& stepper, int64_t first, int64_t count) {
                stepper.advance(batch_, prefixes, tags, first, count, next_futures_);
              });
    std::swap(future_states_, next_futures_);
  }
  return futures_;
}

/// Shows a member the candidates of all of its rows: of the part at hand, if that holds them.
void Interpreter::show(Member& member, int index, int step, Part rows) {
  const bool with_compat = looks_ahead_ && step < batch_.length(index);
  if (rows.size() <= part_rows_) {
    member.population->propose(read_candidates(member, step, rows, rows.begin, with_compat));
    return;
  }
  for (int64_t first = rows.begin; first < rows.end; first += part_rows_) {
    extend({first, std::min(rows.end, first + part_rows_)});
    member.population->propose(read_candidates(member, step, part_, rows.begin, with_compat));
  }
}

const CandidateTable& Interpreter::read_candidates(const Member& member, int step, Part part,
                                                   int64_t first_row, bool with_compat) {
  const int num_tags = program_.num_tags();
  const int64_t first_cell = (part.begin - part_.begin) * num_tags;
  const int64_t num_cells = part.size() * num_tags;
  scores_.resize(static_cast<size_t>(num_cells));
  compats_.resize(with_compat ? scores_.size() : 0);
  bool good = cells_.scores.visit([&](const auto* values) {
    return read_scores(values + first_cell, num_cells, scores_.data());
  });
  if (with_compat) {
    good &= cells_.compats.visit([&](const auto* values) {
      return read_scores(values + first_cell, num_cells, compats_.data());
    });
  }
  if (!good) check_candidates(member, step, part, with_compat);
  row_scores_.clear();
  row_compats_.clear();
  const RowId level = forest_.level_begin(step - 1);
  for (int64_t row = part.begin; row < part.end; ++row) {
    row_scores_.push_back(forest_.log_score(level + static_cast<RowId>(row)));
    row_compats_.push_back(forest_.compat(level + static_cast<RowId>(row)));
  }
  const TagSets& allowed = member.job.input->allowed;
  for (int tag = 0; !allowed.empty() && tag < num_tags; ++tag) {
    if (allowed.allows(step, tag)) continue;
    for (auto cell = static_cast<size_t>(tag); cell < scores_.size();
         cell += static_cast<size_t>(num_tags)) {
      scores_[cell] = -INFINITY;
      if (with_compat) compats_[cell] = 0;
    }
  }
  table_ = {
      num_tags,    1 / options_.temperature, part.begin - first_row, scores_, compats_, row_scores_,
      row_compats_};
  return table_;
}

/// Throws SamplingError for the first allowed candidate that has no score or no compatibility.
void Interpreter::check_candidates(const Member& member, int step, Part part,
                                   bool with_compat) const {
  const int num_tags = program_.num_tags();
  for (int64_t row = part.begin; row < part.end; ++row) {
    for (int tag = 0; tag < num_tags; ++tag) {
      if (!member.job.input->allowed.allows(step, tag)) continue;
      const int64_t cell = (row - part_.begin) * num_tags + tag;
      const double score = cells_.scores.get(cell);
      const double compat = with_compat ? cells_.compats.get(cell) : 0;
      if (!is_score(score)) {
        throw_not_a_number(program_, member.job.sequence, step, "the model's score", tag, score);
      }
      if (!is_score(compat)) {
        throw_not_a_number(program_, member.job.sequence, step, "the lookahead's compatibility",
                           tag, compat);
      }
    }
  }
}

/// The chosen children become rows of the forest; those whose sequences go on get their states.
void Interpreter::grow(Member& member, int index, int step, Part rows) {
  const RowId parents = forest_.level_begin(step - 1) + static_cast<RowId>(rows.begin),
              first_child = forest_.size();
  const bool goes_on = step < batch_.length(index);
  for (const Child& child : children_) {
    const RowId parent = parents + static_cast<RowId>(child.row);
    forest_.add(parent, child.tag, index, forest_.log_score(parent) + child.score, child.compat);
    if (goes_on && advances_) parent_rows_.push_back(rows.begin + child.row);
  }
  if (goes_on && !advances_) take_states(rows);
  member.num_rows = static_cast<int64_t>(children_.size());
  if (watch_ != nullptr && !member.failed)
    (*watch_)(step, forest_, first_child, forest_.size(), *member.population);
  if (!goes_on && !member.failed) finish(member, index, first_child);
}

/// The children's states are those of their cells. Where the part at hand does not hold all of the
/// member's rows, these are extended again, to the same bits.
void Interpreter::take_states(Part rows) {
  const int64_t num_tags = program_.num_tags();
  int64_t next = next_.num_rows();
  next_.resize(next + static_cast<int64_t>(children_.size()));
  for (const Child& child : children_) {
    const int64_t row = rows.begin + child.row;
    if (!part_.holds({row, row + 1})) extend({row, std::min(rows.end, row + part_rows_)});
    next_.copy_row(next++, cells_.next, (row - part_.begin) * num_tags + child.tag);
  }
}

/// The rows of a new level that go on get their states.
void Interpreter::move_states(int step, RowId begin) {
  if (!advances_) return std::swap(states_, next_);
  const auto num_rows = static_cast<int64_t>(parent_rows_.size());
  next_.resize(num_rows);
  for (int64_t row = 0; row < num_rows; ++row)
    next_.copy_row(row, states_, parent_rows_[static_cast<size_t>(row)]);
  states_.resize(num_rows);
  const RowId end = begin + static_cast<RowId>(num_rows);
  find_positions(step, begin, end);
  const PrefixRows rows{next_, positions_};
  share_out(num_rows, steppers_[0].advance_chunk(),
            [&](Stepper& stepper, int64_t first, int64_t count) {
              stepper.advance(batch_, rows, forest_.tags(begin, end), first, count, states_);
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
  if (final_counts_.empty()) final_counts_.assign(final_rows_.size(), 1);
  for (size_t i = 0; i < final_rows_.size(); ++i)
    recording_->finals.push_back({final_rows_[i], index, final_counts_[i], final_log_weights_[i]});
}

}  // namespace scry
