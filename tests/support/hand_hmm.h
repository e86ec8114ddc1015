// A hidden Markov model with an exact lookahead, as a Program whose kernels are plain C++: what the
// runtime's tests run without a compiler.
#pragma once
#include <vector>

#include "compiler/program.h"

namespace scry::test {

inline constexpr int kHmmSymbols = 3, kHmmTags = 2;

/// Double precision. G_T = Σ_t trans[y_{t-1}, y_t] + emit[y_t, x_t], with y_0 = the tag kHmmTags.
/// The state is the last tag. The lookahead computes b_t[i] = log Σ_j exp(trans[i, j] + emit[j,
/// x_{t+1}]
/// + b_{t+1}[j]) with parameters of its own, C_t = b_t[y_t], and h = ½ b_{t+1}[0].
/// Parameters: model.trans [3, 2], model.emit [2, 3], proposal.trans [3, 2], proposal.emit [2, 3].
Program hand_hmm();
/// The same without a lookahead.
Program hand_hmm_without_proposal();

/// G_T by the definition, for parameters as in Program::params.
double hmm_score(const std::vector<double>& trans, const std::vector<double>& emit,
                 const std::vector<int>& x, const std::vector<int>& y);
/// log Σ_y exp G_T by enumeration.
double hmm_log_total(const std::vector<double>& trans, const std::vector<double>& emit,
                     const std::vector<int>& x);

}  // namespace scry::test
