// log Z of the lessons' HMM and OOHMM by the forward algorithm: an oracle for exact sampling.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/kernels/parameters.h"

namespace scry::test {

/// The rows of a parameter's logits, as probabilities.
inline std::vector<std::vector<double>> softmax_rows(const Program& program,
                                                     const Parameters& parameters,
                                                     const std::string& name) {
  for (const Block& block : program.params) {
    if (block.name != name) continue;
    std::vector<std::vector<double>> rows(static_cast<size_t>(block.shape[0]));
    for (int i = 0; i < block.shape[0]; ++i) {
      double total = 0;
      for (int j = 0; j < block.shape[1]; ++j) {
        rows[static_cast<size_t>(i)].push_back(
            std::exp(parameters.values.get(block.offset + i * block.shape[1] + j)));
        total += rows[static_cast<size_t>(i)].back();
      }
      for (double& p : rows[static_cast<size_t>(i)]) p /= total;
    }
    return rows;
  }
  throw Error("no parameter " + name);
}

/// log p(x) by the forward algorithm: `weight(from, to, x)` is p(to | from) p(x | to).
template <class Weight>
double forward_log_z(const std::vector<int>& x, int num_states, int start, Weight weight) {
  std::vector<double> alpha(static_cast<size_t>(num_states), 0.0);
  alpha[static_cast<size_t>(start)] = 1;
  for (int symbol : x) {
    std::vector<double> next(alpha.size(), 0.0);
    for (int from = 0; from < num_states; ++from) {
      for (int to = 0; to < num_states; ++to)
        next[static_cast<size_t>(to)] +=
            alpha[static_cast<size_t>(from)] * weight(from, to, symbol);
    }
    alpha = next;
  }
  double total = 0;
  for (double a : alpha) total += a;
  return std::log(total);
}

inline double hmm_log_z(const Program& program, const Parameters& parameters,
                        const std::vector<int>& x) {
  const auto transition = softmax_rows(program, parameters, "model.transition");
  const auto emission = softmax_rows(program, parameters, "model.emission");
  const int tags = program.num_tags();
  return forward_log_z(x, tags + 1, tags, [&](int from, int to, int symbol) {
    return to == tags ? 0.0
                      : transition[static_cast<size_t>(from)][static_cast<size_t>(to)] *
                            emission[static_cast<size_t>(to)][static_cast<size_t>(symbol)];
  });
}

/// log p(x | u_0 = start), the logarithm of β_0 (eq:beta-oohmm).
inline double oohmm_log_beta(const Program& program, const Parameters& parameters,
                             const std::vector<int>& x, int start) {
  const auto transition = softmax_rows(program, parameters, "model.transition");
  const auto emission = softmax_rows(program, parameters, "model.emission");
  const int tags = program.num_tags();
  const auto weight = [&](int from, int to, int symbol) {
    double p = 0;
    for (int tag = 0; tag < tags; ++tag) {
      p += emission[static_cast<size_t>(to)][static_cast<size_t>(symbol * tags + tag)];
    }
    return transition[static_cast<size_t>(from)][static_cast<size_t>(to)] * p;
  };
  return forward_log_z(x, static_cast<int>(transition.size()), start, weight);
}
/// Every sequence starts from the latent state BOS, which is 0.
inline double oohmm_log_z(const Program& program, const Parameters& parameters,
                          const std::vector<int>& x) {
  return oohmm_log_beta(program, parameters, x, 0);
}

}  // namespace scry::test
