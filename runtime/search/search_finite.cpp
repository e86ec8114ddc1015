// Dynamic programming over finite states: the best taggings, and exact draws.
#include <algorithm>

#include "runtime/search/best_paths.h"
#include "runtime/search/lattice_sums.h"
#include "runtime/search/posterior.h"
#include "runtime/search/search.h"
#include "runtime/smc/check_input.h"
#include "runtime/smc/end_of_sequence.h"

namespace scry {
bool has_finite_states(const Program& program) {
  return std::all_of(program.state.begin(), program.state.end(),
                     [](const Component& c) { return c.type.is_int(); });
}

std::vector<Best> k_best(const Program& program, const Parameters& parameters,
                         const SampleInput& input, int64_t k, const SearchOptions& options) {
  check_finite_states(program);
  const EndedInputs ended(program.task, std::span(&input, 1));
  check_input(program, ended.front(), options.sequence);
  const Lattice lattice = build_lattice(program, parameters, ended.front(), options.sequence,
                                        {options.max_rows, options.memory});
  const double log_z = LatticeSums(lattice, 1).log_z();
  BestPaths paths(lattice);
  std::vector<Best> all;
  while (static_cast<int64_t>(all.size()) < k) {
    std::optional<BestPaths::Path> path = paths.next();
    if (!path) break;
    Best& best = all.emplace_back();
    best.tags = std::move(path->tags);
    best.log_score = path->score;
    best.log_z = log_z;
    best.num_rows = lattice.num_rows();
    drop_end(program.task, best.tags);
  }
  if (all.empty() && k > 0) {  // though each of its steps is above -∞
    throw SamplingError(Trouble::kNoMass, options.sequence, 0,
                        "the best score is too low for a number");
  }
  return all;
}

Best viterbi(const Program& program, const Parameters& parameters, const SampleInput& input,
             const SearchOptions& options) {
  return std::move(k_best(program, parameters, input, 1, options).front());
}

Ensemble sample_finite(const Program& program, const Parameters& parameters,
                       const SampleInput& input, const SampleOptions& options) {
  check_options(options);
  return finite_posterior(program, parameters, input, options)
      ->draw(options.particles, options.seed);
}

}  // namespace scry
