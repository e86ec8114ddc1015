#include "runtime/kernels/stepper.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

namespace scry {

void Cells::read_logits(int64_t count, RealBuffer& logits, int64_t first) const {
  logits.visit([&](auto* to) {
    using Real = std::remove_pointer_t<decltype(to)>;
    const auto* g = static_cast<const Real*>(scores.at());
    const auto* c = static_cast<const Real*>(compats.at());
    for (int64_t cell = 0; cell < count; ++cell) to[first + cell] = g[cell] + c[cell];
  });
}

Stepper::Stage::Stage(const Program& program, const Kernel& kernel_code,
                      const Parameters& parameters)
    : kernel(program, kernel_code, parameters),
      chunk(kernel.chunk_rows()),
      slots(program, kernel),
      state(kernel, "s.", program.state),
      next(kernel, "next.", program.state),
      y(kernel.find("y")),
      scores(kernel.find("score")),
      compats(kernel.find("compat")),
      all_tags(static_cast<size_t>(program.num_tags())) {
  std::iota(all_tags.begin(), all_tags.end(), 0);
  kernel.bind(y, all_tags.data());
}

void Stepper::Stage::run(const Batch& batch, int step, PrefixRows rows, int64_t first,
                         int64_t count) {
  batch.bind(kernel, slots, step);
  state.bind(kernel, rows.states, rows.first_state);
  const KernelCall call{rows.size(), batch.num_reaching(step), batch.max_length(),
                        rows.sequences.data(), nullptr};
  for (int64_t done = 0; done < count; done += chunk)
    kernel.run_rows(call, first + done, std::min(chunk, count - done));
}

Stepper::Stepper(const Program& program, const Parameters& parameters)
    : score_(program, program.score, parameters),
      extend_(program, program.extend.forward, parameters),
      advance_(program, program.advance.forward, parameters),
      ignored_(program.precision, 0) {}

void Stepper::score(const Batch& batch, int step, PrefixRows rows, int64_t first, int64_t count,
                    Cells& cells) {
  score_.kernel.bind(score_.scores, cells.scores.at());
  score_.run(batch, step, rows, first, count);
}

void Stepper::extend(const Batch& batch, int step, PrefixRows rows, int64_t first, int64_t count,
                     Cells& cells) {
  extend_.kernel.bind(extend_.scores, cells.scores.at());
  extend_.kernel.bind(extend_.compats, cells.compats.at());
  extend_.next.bind(extend_.kernel, cells.next);
  extend_.run(batch, step, rows, first, count);
}

void Stepper::advance(const Batch& batch, int step, PrefixRows rows, std::span<const int32_t> tags,
                      int64_t first, int64_t count, StateRows& next, RealBuffer* scores) {
  if (scores == nullptr) scores = &ignored_;
  if (scores->size() < rows.size()) scores->reset(rows.size());
  advance_.kernel.bind(advance_.y, tags.data());
  advance_.kernel.bind(advance_.scores, scores->at());
  advance_.next.bind(advance_.kernel, next);
  advance_.run(batch, step, rows, first, count);
}

}  // namespace scry
