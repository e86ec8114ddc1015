#include "runtime/train/forest_gradient.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

namespace scry {

ForestGradient::Stage::Stage(const Program& program, const Kernel& code,
                             const Parameters& parameters, const RealRows& rows,
                             const BatchGradient& shape)
    : kernel(program, code, parameters),
      chunk(kernel.chunk_rows()),
      slots(program, kernel),
      gradients(shape.find_slots(kernel)),
      state(kernel, "s.", program.state),
      y(kernel.find("y")),
      d_score(kernel.find("d.score")),
      d_compat(kernel.find("d.compat")),
      d_state(rows.find(kernel, "d.s.")),
      d_next(rows.find(kernel, "d.next.")) {}

ForestGradient::ForestGradient(const Program& program, const Parameters& parameters,
                               const BatchGradient& batch_gradient)
    : program_(program),
      next_(program, program.state),
      here_(program, program.state),
      parents_(program, program.state),
      parent_states_(program, program.state),
      advance_(program, program.advance.gradient, parameters, next_, batch_gradient),
      propose_(program, program.extend_proposal, parameters, next_, batch_gradient),
      seeds_(static_cast<size_t>(program.num_tags())),
      stepper_(program, parameters),
      cells_(program),
      logits_(program.precision, 0),
      d_scores_(program.precision, 0),
      all_tags_(static_cast<size_t>(program.num_tags())) {
  std::iota(all_tags_.begin(), all_tags_.end(), 0);
  propose_.kernel.bind(propose_.y, all_tags_.data());
}

void ForestGradient::weigh_rows(const Recording& run, std::span<const double> final_weights) {
  row_weights_.assign(static_cast<size_t>(run.forest.size()), 0.0);
  for (size_t i = 0; i < final_weights.size(); ++i)
    row_weights_[static_cast<size_t>(run.finals[i].row)] += final_weights[i];
  for (RowId row = run.forest.size(); row-- > 0;) {
    const RowId parent = run.forest.parent(row);
    if (parent >= 0)
      row_weights_[static_cast<size_t>(parent)] += row_weights_[static_cast<size_t>(row)];
  }
}

void ForestGradient::run_rows(Stage& stage, const Batch& batch, int step,
                              std::span<const int32_t> sequences) {
  const auto num_rows = static_cast<int64_t>(sequences.size());
  const KernelCall call{num_rows, batch.num_reaching(step), batch.max_length(), sequences.data(),
                        nullptr};
  for (int64_t done = 0; done < num_rows; done += stage.chunk)
    stage.kernel.run_rows(call, done, std::min(stage.chunk, num_rows - done));
}

void ForestGradient::add_score_gradient(const Batch& batch, const Recording& run,
                                        std::span<const double> final_weights,
                                        BatchGradient& batch_gradient, Gradients& gradients) {
  weigh_rows(run, final_weights);
  advance_.kernel.bind(gradients);
  const Forest& forest = run.forest;
  next_.reset(0);
  for (int step = batch.max_length(); step >= 1; --step) {
    const RowId begin = forest.level_begin(step), end = forest.level_end(step);
    const RowId before = forest.level_begin(step - 1);
    const int64_t num_rows = end - begin;
    // One child each, in order: the parents' rows are the children's.
    bool is_chain = true;
    for (RowId row = begin; row < end && is_chain; ++row)
      is_chain = forest.parent(row) == before + (row - begin);

    here_.reset(run.states[static_cast<size_t>(step) - 1].num_rows());
    if (!is_chain) {
      parent_states_.resize(num_rows);
      for (RowId row = begin; row < end; ++row) {
        parent_states_.copy_row(row - begin, run.states[static_cast<size_t>(step) - 1],
                                forest.parent(row) - before);
      }
      parents_.reset(num_rows);
    }
    next_.grow(num_rows);  // the finals among them lead nowhere
    if (d_scores_.size() < num_rows) d_scores_.reset(num_rows);
    for (RowId row = begin; row < end; ++row)
      d_scores_.set(row - begin, row_weights_[static_cast<size_t>(row)]);

    batch.bind(advance_.kernel, advance_.slots, step);
    batch_gradient.bind(advance_.kernel, advance_.gradients, step);
    advance_.state.bind(advance_.kernel,
                        is_chain ? run.states[static_cast<size_t>(step) - 1] : parent_states_);
    advance_.kernel.bind(advance_.y, forest.tags(begin, end).data());
    advance_.kernel.bind(advance_.d_score, d_scores_.at());
    next_.bind(advance_.kernel, advance_.d_next);
    (is_chain ? here_ : parents_).bind(advance_.kernel, advance_.d_state);
    run_rows(advance_, batch, step, forest.sequences(begin, end));
    if (!is_chain) {
      for (RowId row = begin; row < end; ++row)
        here_.add_rows(forest.parent(row) - before, parents_, row - begin);
    }
    std::swap(next_, here_);
  }
  batch_gradient.start().add_rows(0, next_, 0, batch.num_sequences());
}

/// g + C_t of these rows' tags, from a cell of the buffer on: as recorded, or computed again.
const RealBuffer& ForestGradient::find_logits(const Batch& batch, const Recording& run,
                                              const Chunk& chunk, int64_t& first_cell) {
  const Recording::Logits& recorded = run.logits[static_cast<size_t>(chunk.step)];
  first_cell = chunk.first * program_.num_tags();
  if (chunk.first < recorded.num_rows) return recorded.values;
  const int64_t num_cells = chunk.count * program_.num_tags();
  for (RealBuffer* buffer : {&cells_.scores, &cells_.compats, &logits_}) {
    if (buffer->size() < num_cells) buffer->reset(num_cells);
  }
  cells_.next.resize(num_cells);
  const RowId begin = run.forest.level_begin(chunk.step - 1) + static_cast<RowId>(chunk.first);
  const PrefixRows rows{run.states[static_cast<size_t>(chunk.step) - 1],
                        run.forest.sequences(begin, begin + static_cast<RowId>(chunk.count)),
                        chunk.first};
  stepper_.extend(batch, chunk.step, rows, 0, chunk.count, cells_);
  cells_.read_logits(num_cells, logits_, 0);
  first_cell = 0;
  return logits_;
}

/// d/d(g + C) of Σ weight · log q(tag | prefix): the weight of the child less q times the weight of
/// all. `child` is the first row of the next level that is no child of an earlier chunk's rows.
void ForestGradient::seed_proposals(const Batch& batch, const Recording& run, const Chunk& chunk,
                                    RowId& child) {
  const Forest& forest = run.forest;
  const size_t num_tags = seeds_.size();
  int64_t first_cell = 0;
  const RealBuffer& buffer = find_logits(batch, run, chunk, first_cell);
  const int64_t num_cells = chunk.count * program_.num_tags();
  if (d_scores_.size() < num_cells) d_scores_.reset(num_cells);
  d_scores_.visit([&](auto* to) {
    using Real = std::remove_pointer_t<decltype(to)>;
    const auto* logits = static_cast<const Real*>(buffer.at(first_cell));
    for (int64_t i = 0; i < chunk.count; ++i, logits += num_tags, to += num_tags) {
      const RowId row = forest.level_begin(chunk.step - 1) + static_cast<RowId>(chunk.first + i);
      const double weight = row_weights_[static_cast<size_t>(row)];
      const double top = *std::max_element(logits, logits + num_tags);
      if (top == -INFINITY || weight == 0) {
        std::fill_n(seeds_.begin(), num_tags, 0.0);
      } else {
        double total = 0;
        for (size_t tag = 0; tag < num_tags; ++tag)
          total += seeds_[tag] = std::exp(static_cast<double>(logits[tag]) - top);
        for (double& seed : seeds_) seed *= -weight / total;
      }
      for (; child < forest.level_end(chunk.step) && forest.parent(child) == row; ++child)
        seeds_[static_cast<size_t>(forest.tag(child))] += row_weights_[static_cast<size_t>(child)];
      for (size_t tag = 0; tag < num_tags; ++tag) to[tag] = static_cast<Real>(seeds_[tag]);
    }
  });
}

void ForestGradient::add_proposal_gradient(const Batch& batch, const Recording& run,
                                           std::span<const double> final_weights,
                                           BatchGradient& batch_gradient, Gradients& gradients) {
  weigh_rows(run, final_weights);
  propose_.kernel.bind(gradients);
  const Forest& forest = run.forest;
  for (int step = batch.max_length() - 1; step >= 1; --step) {  // C_T = 0
    const RowId before = forest.level_begin(step - 1);
    const std::span<const int32_t> all = forest.sequences(before, forest.level_end(step - 1));
    const auto beyond = std::lower_bound(all.begin(), all.end(), batch.num_reaching(step + 1));
    const int64_t num_rows = beyond - all.begin();
    if (num_rows == 0) continue;
    batch.bind(propose_.kernel, propose_.slots, step);
    batch_gradient.bind(propose_.kernel, propose_.gradients, step);
    RowId child = forest.level_begin(step);
    for (int64_t first = 0; first < num_rows; first += propose_.chunk) {
      const Chunk chunk{step, first, std::min(propose_.chunk, num_rows - first)};
      seed_proposals(batch, run, chunk, child);
      propose_.state.bind(propose_.kernel, run.states[static_cast<size_t>(step) - 1], first);
      propose_.kernel.bind(propose_.d_compat, d_scores_.at());
      propose_.kernel.run(
          {chunk.count, batch.num_reaching(step), batch.max_length(), all.data() + first, nullptr});
    }
  }
}

}  // namespace scry
