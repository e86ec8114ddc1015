// The best sequence, exactly: Viterbi where states can be numbered, A* where a bound is known.
#pragma once
#include "runtime/sample.h"

namespace scry {

/// A best sequence, and what is known about it.
struct Best {
  std::vector<int32_t> tags;
  double log_score = 0;  ///< G_T
  bool optimal = true;   ///< false: the search was heuristic
  std::string why;       ///< why it was, in a sentence; empty if optimal
  int64_t num_rows = 0;  ///< prefixes or states that were extended
};

struct SearchOptions {
  int64_t sequence = 0;                 ///< its number, for messages
  int64_t max_rows = int64_t{1} << 20;  ///< prefixes extended, at most
};

/// Whether all of the model's state is integers, so that equal states can be told and merged.
bool has_finite_states(const Program& program);

/// The highest-scoring tagging by dynamic programming over the distinct states of each step.
/// Throws Error if the states are not finite, SamplingError as sampling does.
Best viterbi(const Program& program, const Parameters& parameters, const SampleInput& input,
             const SearchOptions& options = {});

/// Best-first search with the priority G_t + C_t + Ĥ_t (sec:astar). With the exact logprob-to-go,
/// which bounds the best score-to-go from above, the first complete tagging is the best; with a
/// learned lookahead, or one that was seen to be no bound, it is heuristic and says so. Throws
/// Error if the program has no lookahead, SamplingError as sampling does or past `max_rows`.
Best search_best_first(const Program& program, const Parameters& parameters,
                       const SampleInput& input, const SearchOptions& options = {});

/// M exact draws from p(y | x), and log Z, by dynamic programming over the distinct states of each
/// step, whatever T is. Uses of `options`: particles, temperature, seed, first_sequence, max_rows.
/// Throws as viterbi does.
Ensemble sample_finite(const Program& program, const Parameters& parameters,
                       const SampleInput& input, const SampleOptions& options = {});

}  // namespace scry
