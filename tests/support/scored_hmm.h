// The hand-written HMM with its parameters at hand, and all its taggings' scores.
#pragma once
#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/search/search.h"
#include "tests/support/hand_hmm.h"
#include "tests/support/taggings.h"

namespace scry::test {

struct ScoredHmm {
  Program program;
  Parameters parameters;

  explicit ScoredHmm(uint64_t seed, Program made = hand_hmm())
      : program(std::move(made)), parameters(Parameters::fresh(program, seed)) {}

  std::vector<double> block(int64_t offset) const {
    std::vector<double> values;
    for (int64_t k = 0; k < 6; ++k) values.push_back(parameters.values.get(offset + k));
    return values;
  }
  std::vector<double> trans() const { return block(0); }
  std::vector<double> emit() const { return block(16); }
  void set_trans(int from, int tag, double value) {
    parameters.values.set(from * kHmmTags + tag, value);
  }
  void set_emit(int tag, int symbol, double value) {
    parameters.values.set(16 + tag * kHmmSymbols + symbol, value);
  }
  double score(const std::vector<int>& x, const std::vector<int>& y) const {
    return hmm_score(trans(), emit(), x, y);
  }
  /// The lookahead gets the model's own parameters.
  void copy_to_lookahead() {
    for (int64_t k = 0; k < 32; ++k) parameters.values.set(32 + k, parameters.values.get(k));
  }
};

inline bool is_allowed(const TagSets& allowed, const std::vector<int>& y) {
  for (size_t t = 0; t < y.size(); ++t) {
    if (!allowed.allows(static_cast<int>(t) + 1, y[t])) return false;
  }
  return true;
}

/// G_T of every allowed tagging.
inline std::map<std::vector<int>, double> all_scores(const ScoredHmm& hmm,
                                                     const std::vector<int>& x,
                                                     const TagSets& allowed = {}) {
  std::map<std::vector<int>, double> scores;
  for (const std::vector<int>& y : all_taggings(kHmmTags, static_cast<int>(x.size()))) {
    if (is_allowed(allowed, y)) scores[y] = hmm.score(x, y);
  }
  return scores;
}
inline double max_score(const std::map<std::vector<int>, double>& scores) {
  double best = -INFINITY;
  for (const auto& [y, score] : scores) best = std::max(best, score);
  return best;
}
inline double log_total(const std::map<std::vector<int>, double>& scores, double temperature = 1) {
  double total = 0;
  for (const auto& [y, score] : scores) total += std::exp(score / temperature);
  return std::log(total);
}

/// Forbids one tag at every other step.
inline TagSets some_constraints(int length, uint64_t seed) {
  TagSets allowed(length, kHmmTags);
  const std::vector<int> tags = random_symbols(kHmmTags, length, seed);
  for (int step = 1; step <= length; step += 2)
    allowed.forbid(step, tags[static_cast<size_t>(step - 1)]);
  return allowed;
}

/// A lookahead without h: with the model's parameters it is the exact logprob-to-go.
inline void back_without_h(const KernelCall* call) {
  static const KernelFn back = hand_hmm().back.forward.run;
  back(call);
  std::fill_n(static_cast<double*>(call->args[5]), call->num_positions, 0.0);
}
/// The HMM with the exact lookahead, which has no parameters that would count as learned.
inline ScoredHmm exact_hmm(uint64_t seed) {
  ScoredHmm hmm(seed);
  for (Block& block : hmm.program.params) block.group = ParamGroup::kModel;
  hmm.program.back.forward.run = back_without_h;
  hmm.copy_to_lookahead();
  return hmm;
}

inline std::vector<int> ints(std::span<const int32_t> tags) { return {tags.begin(), tags.end()}; }

}  // namespace scry::test
