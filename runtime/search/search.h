// The best sequence, exactly: Viterbi where states can be numbered, A* where a bound is known.
#pragma once
#include <algorithm>
#include <optional>
#include <span>

#include "runtime/smc/sample.h"

namespace scry {

/// A best sequence, and what is known about it.
struct Best {
  std::vector<int32_t> tags;
  double log_score = 0;  ///< G_T
  bool optimal = true;   ///< false: the search was heuristic
  std::string why;       ///< why it was, in a sentence; empty if optimal
  int64_t num_rows = 0;  ///< prefixes or states that were extended
  /// log Z, exactly, where the search comes by it: of finite states.
  std::optional<double> log_z = {};
  /// log p(y | x), likewise; never above 0.
  std::optional<double> log_probability() const {
    return log_z ? std::optional(std::min(0.0, log_score - *log_z)) : std::nullopt;
  }
};

/// The best taggings of one sequence, at least one, as to_json(Ensemble) makes it, with the same
/// keys: what a search does not tell is null.
std::string to_json(std::span<const Best> best, const Task& task, const std::string& method,
                    int64_t sequence);
inline std::string to_json(const Best& best, const Task& task, const std::string& method,
                           int64_t sequence) {
  return to_json(std::span(&best, 1), task, method, sequence);
}

struct SearchOptions {
  int64_t sequence = 0;                 ///< its number, for messages
  int64_t max_rows = int64_t{1} << 17;  ///< prefixes or states extended, of all steps, at most
  int64_t memory = 0;                   ///< viterbi: bytes that it may take; 0: default_memory()
};

/// Whether all of the model's state is integers, so that equal states can be told and merged.
bool has_finite_states(const Program& program);

/// The highest-scoring tagging by dynamic programming over the distinct states of each step; of
/// equal scores (as added from the right) the lexicographically smallest tagging. Throws Error if
/// the states are not finite, SamplingError as sampling does or past `max_rows` or `memory`.
Best viterbi(const Program& program, const Parameters& parameters, const SampleInput& input,
             const SearchOptions& options = {});

/// The k best taggings, best first, or all of finite score if there are fewer; each with log Z. Of
/// equal scores (as added from the right) the one whose first tag is smaller goes first; if these
/// are equal, the one that goes on better, or in the same order. Throws as viterbi does.
std::vector<Best> k_best(const Program& program, const Parameters& parameters,
                         const SampleInput& input, int64_t k, const SearchOptions& options = {});

/// Best-first search with the priority G_t + C_t + Ĥ_t (sec:astar), where C_T = 0. The exact
/// logprob-to-go bounds the best score-to-go from above, so that the first complete tagging is the
/// best, constrained or not. A lookahead without parameters of its own is taken for such a bound
/// unless an extended prefix shows that it is none: `g + C_t + Ĥ_t ≤ C_{t-1} + Ĥ_{t-1}` is checked
/// up to rounding for each. A learned lookahead is none. Of equal priorities the longer prefix
/// goes first, then the one met earlier.
/// Throws Error if the program has no lookahead, SamplingError as sampling does or past `max_rows`.
Best search_best_first(const Program& program, const Parameters& parameters,
                       const SampleInput& input, const SearchOptions& options = {});

/// M exact draws from p(y | x) ∝ exp(G_T / temperature), and log Z, by dynamic programming over the
/// distinct states of each step, whatever T is. The ensemble's weights are shares of the draws:
/// probability(i) is count / M, model_log_probability(i) is log p(y | x) itself. Draw m depends on
/// (seed, first_sequence, m) alone. Each step's record has its number of states and ess = M. Uses
/// of `options`: particles, temperature, seed, first_sequence, memory, max_rows (states of all
/// steps, at most). Throws as viterbi does, and Error if the options make no sense.
Ensemble sample_finite(const Program& program, const Parameters& parameters,
                       const SampleInput& input, const SampleOptions& options = {});

}  // namespace scry
