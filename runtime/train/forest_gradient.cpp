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
      next(kernel, "next.", program.state),
      kept(kernel, "", program.kept),
      y(kernel.find("y")),
      score(kernel.find("score")),
      d_score(kernel.find("d.score")),
      d_compat(kernel.find("d.compat")),
      d_state(rows.find(kernel, "d.s.")),
      d_next(rows.find(kernel, "d.next.")) {}

ForestGradient::ForestGradient(const Program& program, const Parameters& parameters,
                               const BatchGradient& batch_gradient)
    : program_(program),
      d_states_(program, program.state),
      d_parents_(program, program.state),
      d_next_(program, program.state),
      score_(program, program.score_tag.gradient, parameters, d_states_, batch_gradient),
      advance_(program, program.advance.gradient, parameters, d_states_, batch_gradient),
      propose_(program, program.extend.gradient, parameters, d_states_, batch_gradient),
      scores_(program.precision, 0),
      d_scores_(program.precision, 0),
      states_(program, program.state),
      kept_(program, program.kept),
      seeds_(static_cast<size_t>(program.num_tags())),
      d_compats_(program.precision, 0),
      stepper_(program, parameters),
      cells_(program),
      all_tags_(static_cast<size_t>(program.num_tags())) {
  std::iota(all_tags_.begin(), all_tags_.end(), 0);
  propose_.kernel.bind(propose_.y, all_tags_.data());
}

void ForestGradient::add(const Batch& batch, const Recording& run, const Seeds& seeds,
                         BatchGradient& batch_gradient, Gradients& gradients) {
  if (!seeds.d_score.empty()) add_scores(batch, run, seeds.d_score, batch_gradient, gradients);
  if (!seeds.d_compat.empty()) {
    for (int s = 0; s < batch.num_sequences(); ++s) {
      if (const double d = seeds.d_compat[static_cast<size_t>(s)]; d != 0)
        batch_gradient.add_root(s, d);
    }
  }
  if (!seeds.d_compat.empty() || !seeds.d_log_sum.empty())
    add_proposals(batch, run, seeds, batch_gradient, gradients);
  if (!seeds.d_to_go.empty()) batch_gradient.add_to_go(seeds.d_to_go);
}

void ForestGradient::prepare(Stage& stage, const Batch& batch, BatchGradient& batch_gradient) {
  batch.bind(stage.kernel, stage.slots);
  batch_gradient.bind(stage.kernel, stage.gradients);
}

/// Scores of all levels at once; then states, from the last level to the first.
void ForestGradient::add_scores(const Batch& batch, const Recording& run,
                                std::span<const double> d_score, BatchGradient& batch_gradient,
                                Gradients& gradients) {
  const Forest& forest = run.forest;
  d_states_.reset(run.states.num_rows());
  const RowId begin = forest.level_end(0), end = forest.size();
  if (score_.kernel && begin < end) {
    if (d_scores_.size() < end - begin) {
      d_scores_.reset(end - begin);
      scores_.reset(end - begin);
    }
    for (RowId row = begin; row < end; ++row)
      d_scores_.set(row - begin, d_score[static_cast<size_t>(row)]);
    score_.kernel.bind(gradients);
    prepare(score_, batch, batch_gradient);
    score_.kernel.bind(score_.score, scores_.at());
    score_.kernel.bind(score_.d_score, d_scores_.at());
    run_children(score_, batch, run, begin, end);
  }
  if (advance_.kernel) {
    advance_.kernel.bind(gradients);
    for (int level = static_cast<int>(run.levels.size()) - 1; level >= 1; --level)
      add_states(batch, run, level, batch_gradient);
  }
  if (!run.levels.empty())
    batch_gradient.start().add_rows(0, d_states_, 0, run.levels.front().count);
}

/// From the states of a level to those before.
void ForestGradient::add_states(const Batch& batch, const Recording& run, int level,
                                BatchGradient& batch_gradient) {
  const Recording::Level& at = run.levels[static_cast<size_t>(level)];
  if (at.count == 0) return;
  prepare(advance_, batch, batch_gradient);
  d_states_.bind(advance_.kernel, advance_.d_next, at.first);
  const RowId begin = run.forest.level_begin(level);
  run_children(advance_, batch, run, begin, begin + static_cast<RowId>(at.count));
}

/// Runs a kernel over rows of the forest, each from its parent's state, to whose gradient it adds.
/// What else the kernel takes of rows is bound, from the first of them on.
void ForestGradient::run_children(Stage& stage, const Batch& batch, const Recording& run,
                                  RowId begin, RowId end) {
  const Forest& forest = run.forest;
  const int64_t num_rows = end - begin;
  stage.kernel.bind(stage.y, forest.tags(begin, end).data());
  positions_.resize(static_cast<size_t>(num_rows));
  KernelCall call = batch.call();
  call.num_rows = num_rows;
  call.position_of_row = positions_.data();

  int level = 0;
  const auto parent_of = [&](RowId row) {  // rows come in order
    while (row >= forest.level_end(level)) ++level;
    return run.state_of(forest.parent(row), level - 1);
  };
  // One child each, in order: the parents' rows are the children's.
  const int64_t first_parent = parent_of(begin);
  bool is_chain = true;
  for (RowId row = begin; row < end; ++row) {
    const int64_t parent = parent_of(row);
    is_chain = is_chain && parent == first_parent + (row - begin);
    positions_[static_cast<size_t>(row - begin)] = run.positions[static_cast<size_t>(parent)];
  }
  if (is_chain) {
    stage.state.bind(stage.kernel, run.states, first_parent);
    d_states_.bind(stage.kernel, stage.d_state, first_parent);
    for (int64_t first = 0; first < num_rows; first += stage.chunk)
      stage.kernel.run_rows(call, first, std::min(stage.chunk, num_rows - first));
    return;
  }
  states_.resize(num_rows);
  d_parents_.reset(num_rows);
  level = 0;
  for (RowId row = begin; row < end; ++row)
    states_.copy_row(row - begin, run.states, parent_of(row));
  stage.state.bind(stage.kernel, states_);
  d_parents_.bind(stage.kernel, stage.d_state);
  for (int64_t first = 0; first < num_rows; first += stage.chunk)
    stage.kernel.run_rows(call, first, std::min(stage.chunk, num_rows - first));
  level = 0;
  for (RowId row = begin; row < end; ++row)
    d_states_.add_rows(parent_of(row), d_parents_, row - begin);
}

/// All rows that have C, of all levels, in parts.
void ForestGradient::add_proposals(const Batch& batch, const Recording& run, const Seeds& seeds,
                                   BatchGradient& batch_gradient, Gradients& gradients) {
  if (!propose_.kernel) return;
  const Forest& forest = run.forest;
  first_child_.assign(static_cast<size_t>(forest.size()), -1);
  for (RowId row = forest.size(); row-- > 0;) {
    if (forest.parent(row) >= 0) first_child_[static_cast<size_t>(forest.parent(row))] = row;
  }
  propose_.kernel.bind(gradients);
  prepare(propose_, batch, batch_gradient);
  const int64_t num_cells = propose_.chunk * program_.num_tags();
  if (d_compats_.size() < num_cells) d_compats_.reset(num_cells);
  propose_.kernel.bind(propose_.d_compat, d_compats_.at());
  const auto flush = [&] {
    if (extended_.empty()) return;
    const auto count = static_cast<int64_t>(extended_.size());
    positions_.clear();
    for (const Extended& row : extended_)
      positions_.push_back(run.positions[static_cast<size_t>(row.state)]);
    bind_cells(batch, run);
    seed_cells(run, seeds);
    KernelCall call = batch.call();
    call.num_rows = count;
    call.position_of_row = positions_.data();
    propose_.kernel.run(call);
    extended_.clear();
  };
  // What was recorded is taken where it stands.
  const auto is_next = [](int64_t cells, int64_t next) {
    return cells < 0 ? next < 0 : next == cells + 1;
  };
  extended_.clear();
  for (size_t t = 0; t < run.levels.size(); ++t) {
    const Recording::Level& level = run.levels[t];
    const RowId begin = forest.level_begin(static_cast<int>(t));
    for (int64_t i = 0; i < level.num_ahead; ++i) {
      const Extended row{begin + static_cast<RowId>(i), level.first + i,
                         level.first_cells < 0 ? -1 : level.first_cells + i};
      if (!extended_.empty() && !is_next(extended_.back().cells, row.cells)) flush();
      extended_.push_back(row);
      if (static_cast<int64_t>(extended_.size()) == propose_.chunk) flush();
    }
  }
  flush();
}

/// Reads g + C_t of the rows' tags, and binds the states that they lead to and what was kept: as
/// recorded, end to end, or computed again.
void ForestGradient::bind_cells(const Batch& batch, const Recording& run) {
  const auto count = static_cast<int64_t>(extended_.size());
  const int64_t num_tags = program_.num_tags();
  const int64_t first = extended_.front().cells;
  if (first >= 0) {
    read_logits(run.scores, run.compats, first * num_tags, count * num_tags);
    propose_.next.bind(propose_.kernel, run.nexts, first * num_tags);
    propose_.kept.bind(propose_.kernel, run.kept, first);
    return;
  }
  for (RealBuffer* buffer : {&cells_.scores, &cells_.compats}) {
    if (buffer->size() < count * num_tags) buffer->reset(count * num_tags);
  }
  cells_.next.resize(count * num_tags);
  kept_.resize(count);
  states_.resize(count);
  for (int64_t i = 0; i < count; ++i)
    states_.copy_row(i, run.states, extended_[static_cast<size_t>(i)].state);
  stepper_.extend(batch, {states_, positions_}, 0, count, cells_, &kept_);
  read_logits(cells_.scores, cells_.compats, 0, count * num_tags);
  propose_.next.bind(propose_.kernel, cells_.next);
  propose_.kept.bind(propose_.kernel, kept_);
}

/// Added as kernels would, so that q is what was drawn from.
void ForestGradient::read_logits(const RealBuffer& scores, const RealBuffer& compats, int64_t first,
                                 int64_t count) {
  logits_.resize(static_cast<size_t>(count));
  scores.visit([&](const auto* g) {
    using Real = std::remove_const_t<std::remove_pointer_t<decltype(g)>>;
    const auto* c = static_cast<const Real*>(compats.at());
    for (int64_t k = 0; k < count; ++k)
      logits_[static_cast<size_t>(k)] = static_cast<double>(g[first + k] + c[first + k]);
  });
}

/// d/dC of every cell: of L it is q (eq:q-local), and a tag that was taken has its child's.
void ForestGradient::seed_cells(const Recording& run, const Seeds& seeds) {
  const Forest& forest = run.forest;
  const size_t num_tags = seeds_.size();
  for (size_t i = 0; i < extended_.size(); ++i) {
    const RowId row = extended_[i].row;
    const double* logits = logits_.data() + i * num_tags;
    const double d_log_sum =
        seeds.d_log_sum.empty() ? 0 : seeds.d_log_sum[static_cast<size_t>(row)];
    const double top = *std::max_element(logits, logits + num_tags);
    if (top == -INFINITY || d_log_sum == 0) {
      std::fill(seeds_.begin(), seeds_.end(), 0.0);
    } else {
      double total = 0;
      for (size_t tag = 0; tag < num_tags; ++tag)
        total += seeds_[tag] = std::exp(logits[tag] - top);
      for (double& seed : seeds_) seed *= d_log_sum / total;
    }
    if (!seeds.d_compat.empty()) {
      RowId child = first_child_[static_cast<size_t>(row)];
      for (; child >= 0 && child < forest.size() && forest.parent(child) == row; ++child)
        seeds_[static_cast<size_t>(forest.tag(child))] +=
            seeds.d_compat[static_cast<size_t>(child)];
    }
    d_compats_.visit([&](auto* to) {
      using Real = std::remove_pointer_t<decltype(to)>;
      for (size_t tag = 0; tag < num_tags; ++tag)
        to[i * num_tags + tag] = static_cast<Real>(seeds_[tag]);
    });
  }
}

}  // namespace scry
