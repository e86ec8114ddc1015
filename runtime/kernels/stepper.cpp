#include "runtime/kernels/stepper.h"

#include <algorithm>
#include <numeric>

namespace scry {

Stepper::Stage::Stage(const Program& program, const Kernel& kernel_code,
                      const Parameters& parameters)
    : kernel(program, kernel_code, parameters),
      chunk(kernel.chunk_rows()),
      slots(program, kernel),
      state(kernel, "s.", program.state),
      next(kernel, "next.", program.state),
      kept(kernel, "", program.kept),
      y(kernel.find("y")),
      scores(kernel.find("score")),
      compats(kernel.find("compat")),
      all_tags(static_cast<size_t>(program.num_tags())) {
  std::iota(all_tags.begin(), all_tags.end(), 0);
  kernel.bind(y, all_tags.data());
}

void Stepper::Stage::run(const Batch& batch, PrefixRows rows, int64_t first, int64_t count) {
  batch.bind(kernel, slots);
  state.bind(kernel, rows.states, rows.first_state);
  KernelCall call = batch.call();
  call.num_rows = rows.size();
  call.position_of_row = rows.positions.data();
  for (int64_t done = 0; done < count; done += chunk)
    kernel.run_rows(call, first + done, std::min(chunk, count - done));
}

Stepper::Stepper(const Program& program, const Parameters& parameters)
    : score_(program, program.score.forward, parameters),
      extend_(program, program.extend.forward, parameters),
      advance_(program, program.advance.forward, parameters),
      score_tag_(program, program.score_tag.forward, parameters),
      nothing_kept_(program, program.kept),
      next_of_chunk_(program, program.state) {}

void Stepper::score(const Batch& batch, PrefixRows rows, int64_t first, int64_t count,
                    Cells& cells) {
  score_.kernel.bind(score_.scores, cells.scores.at());
  score_.run(batch, rows, first, count);
}

void Stepper::extend(const Batch& batch, PrefixRows rows, int64_t first, int64_t count,
                     Cells& cells, StateRows* kept, int64_t first_kept) {
  const auto run = [&](PrefixRows part, int64_t begin, int64_t first_row, int64_t num_rows) {
    const auto cell = begin * static_cast<int64_t>(extend_.all_tags.size());
    extend_.kept.bind(extend_.kernel, kept != nullptr ? *kept : nothing_kept_, first_kept + begin);
    extend_.kernel.bind(extend_.scores, cells.scores.at(cell));
    extend_.kernel.bind(extend_.compats, cells.compats.at(cell));
    extend_.run(batch, part, first_row, num_rows);
  };
  if (cells.next.num_rows() > 0) {
    extend_.next.bind(extend_.kernel, cells.next);
    return run(rows, 0, first, count);
  }
  // A chunk's states go where the last chunk's were.
  next_of_chunk_.resize(extend_.chunk * static_cast<int64_t>(extend_.all_tags.size()));
  extend_.next.bind(extend_.kernel, next_of_chunk_);
  for (const int64_t end = first + count; first < end; first += extend_.chunk) {
    const int64_t num_rows = std::min(extend_.chunk, end - first);
    const auto positions =
        rows.positions.subspan(static_cast<size_t>(first), static_cast<size_t>(num_rows));
    run({rows.states, positions, rows.first_state + first}, first, 0, num_rows);
  }
}

void Stepper::advance(const Batch& batch, PrefixRows rows, std::span<const int32_t> tags,
                      int64_t first, int64_t count, StateRows& next) {
  advance_.kernel.bind(advance_.y, tags.data());
  advance_.next.bind(advance_.kernel, next);
  advance_.run(batch, rows, first, count);
}

void Stepper::score_tag(const Batch& batch, PrefixRows rows, std::span<const int32_t> tags,
                        RealBuffer& scores) {
  if (scores.size() < rows.size()) scores.reset(rows.size());
  score_tag_.kernel.bind(score_tag_.y, tags.data());
  score_tag_.kernel.bind(score_tag_.scores, scores.at());
  score_tag_.run(batch, rows, 0, rows.size());
}

}  // namespace scry
