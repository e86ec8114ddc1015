// What is kept of a run over a batch, so that it can be differentiated.
#pragma once
#include "runtime/kernels/forest.h"
#include "runtime/kernels/state_rows.h"

namespace scry {

/// The forest of a run with the state of every prefix and what proposed its tags. Of a level's
/// rows, those whose sequences go on come first; they alone have states.
struct Recording {
  explicit Recording(const Program& program) : program(&program) {}

  const Program* program;
  Forest forest{0};
  std::vector<StateRows> states;  ///< by level, from 0
  /// g + C_t of every tag (eq:q-local), for the first `num_rows` of the level before: for all that
  /// go on, or, where memory did not allow it, for none.
  struct Logits {
    RealBuffer values;
    int64_t num_rows = 0;
  };
  std::vector<Logits> logits;  ///< by step, from 1 (0 is unused)

  /// A whole tagging that was reached.
  struct Final {
    RowId row;
    int32_t sequence;
    int32_t count;      ///< particles on it
    double log_weight;  ///< of them together, over M
  };
  std::vector<Final> finals;

  void clear() {
    forest = Forest(0);
    finals.clear();
  }
  /// Memory is kept from run to run.
  StateRows& level_states(int level) {
    while (states.size() <= static_cast<size_t>(level))
      states.emplace_back(*program, program->state);
    return states[static_cast<size_t>(level)];
  }
  Logits& step_logits(int step) {
    while (logits.size() <= static_cast<size_t>(step))
      logits.push_back({RealBuffer(program->precision, 0), 0});
    return logits[static_cast<size_t>(step)];
  }
};

}  // namespace scry
