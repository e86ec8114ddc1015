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
    : score_(program, program.score, parameters),
      extend_(program, program.extend.forward, parameters),
      advance_(program, program.advance.forward, parameters),
      score_tag_(program, program.score_tag.forward, parameters),
      nothing_kept_(program, program.kept) {}

void Stepper::score(const Batch& batch, PrefixRows rows, int64_t first, int64_t count,
                    Cells& cells) {
  score_.kernel.bind(score_.scores, cells.scores.at());
  score_.run(batch, rows, first, count);
}

void Stepper::extend(const Batch& batch, PrefixRows rows, int64_t first, int64_t count,
                     Cells& cells, StateRows* kept, int64_t first_kept) {
  extend_.kept.bind(extend_.kernel, kept != nullptr ? *kept : nothing_kept_, first_kept);
  extend_.kernel.bind(extend_.scores, cells.scores.at());
  extend_.kernel.bind(extend_.compats, cells.compats.at());
  extend_.next.bind(extend_.kernel, cells.next);
  extend_.run(batch, rows, first, count);
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
