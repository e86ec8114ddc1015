// Dynamic programming over finite states: the best tagging, and exact draws.
#include <algorithm>
#include <cmath>

#include "runtime/search/lattice.h"
#include "runtime/search/posterior.h"
#include "runtime/search/search.h"
#include "runtime/smc/check_input.h"
#include "runtime/smc/end_of_sequence.h"

namespace scry {
bool has_finite_states(const Program& program) {
  return std::all_of(program.state.begin(), program.state.end(),
                     [](const Component& c) { return c.type.is_int(); });
}

Best viterbi(const Program& program, const Parameters& parameters, const SampleInput& input,
             const SearchOptions& options) {
  check_finite_states(program);
  const EndedInputs ended(program.task, std::span(&input, 1));
  check_input(program, ended.front(), options.sequence);
  const Lattice lattice = build_lattice(program, parameters, ended.front(), options.sequence,
                                        options.max_rows, options.memory);
  // The best arc of each row; of equals the first, which has the smallest tag.
  std::vector<std::vector<const Arc*>> choices(lattice.steps.size());
  std::vector<double> later{0.0};  // the best score-to-go of each row
  for (size_t t = lattice.steps.size(); t-- > 0;) {
    const LatticeStep& step = lattice.steps[t];
    std::vector<double> best(static_cast<size_t>(step.num_rows()), -INFINITY);
    choices[t].resize(best.size());
    for (size_t row = 0; row < best.size(); ++row) {
      for (const Arc& arc : step.arcs_from(static_cast<int64_t>(row))) {
        const double score = arc.score + later[static_cast<size_t>(arc.to)];
        if (!(score > best[row])) continue;
        best[row] = score;
        choices[t][row] = &arc;
      }
    }
    later = std::move(best);
  }
  if (later.front() == -INFINITY) {  // though each of its steps is above -∞
    throw SamplingError(Trouble::kNoMass, options.sequence, 0,
                        "the best score is too low for a number");
  }
  Best best;
  best.num_rows = lattice.num_rows();
  int32_t row = 0;
  for (const std::vector<const Arc*>& choice : choices) {
    const Arc& arc = *choice[static_cast<size_t>(row)];
    best.tags.push_back(arc.tag);
    best.log_score += arc.score;
    row = arc.to;
  }
  drop_end(program.task, best.tags);
  return best;
}

Ensemble sample_finite(const Program& program, const Parameters& parameters,
                       const SampleInput& input, const SampleOptions& options) {
  check_options(options);
  return finite_posterior(program, parameters, input, options)
      ->draw(options.particles, options.seed);
}

}  // namespace scry
