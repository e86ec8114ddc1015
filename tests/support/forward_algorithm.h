// log Z of the lessons' HMM and OOHMM by the forward algorithm: an oracle for exact sampling.
#pragma once
#include <Eigen/Core>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/kernels/parameters.h"

namespace scry::test {

/// The rows of a parameter's logits, as probabilities.
inline Eigen::MatrixXd softmax_rows(const Program& program, const Parameters& parameters,
                                    const std::string& name) {
  for (const Block& block : program.params) {
    if (block.name != name) continue;
    const Eigen::ArrayXXd odds = Eigen::ArrayXXd::NullaryExpr(
        block.shape[0], block.shape[1], [&](Eigen::Index i, Eigen::Index j) {
          return std::exp(parameters.values.get(block.offset + i * block.shape[1] + j));
        });
    return odds.colwise() / odds.rowwise().sum();
  }
  throw Error("no parameter " + name);
}

/// log p(x) by the forward algorithm: `weights(x)` is the matrix p(to | from) p(x | to).
template <class Weights>
double forward_log_z(const std::vector<int>& x, Eigen::Index num_states, int start,
                     Weights weights) {
  Eigen::RowVectorXd alpha = Eigen::RowVectorXd::Unit(num_states, start);
  for (const int symbol : x) alpha *= weights(symbol);
  return std::log(alpha.sum());
}

inline double hmm_log_z(const Program& program, const Parameters& parameters,
                        const std::vector<int>& x) {
  const Eigen::MatrixXd transition = softmax_rows(program, parameters, "model.transition");
  const Eigen::MatrixXd emission = softmax_rows(program, parameters, "model.emission");
  const int tags = program.num_tags();
  // The state beside the tags is the start, to which nothing leads.
  return forward_log_z(x, tags + 1, tags, [&](int symbol) {
    Eigen::MatrixXd weights = Eigen::MatrixXd::Zero(tags + 1, tags + 1);
    weights.leftCols(tags) = transition * emission.col(symbol).asDiagonal();
    return weights;
  });
}

/// log p(x | u_0 = start), the logarithm of β_0 (eq:beta-oohmm).
inline double oohmm_log_beta(const Program& program, const Parameters& parameters,
                             const std::vector<int>& x, int start) {
  const Eigen::MatrixXd transition = softmax_rows(program, parameters, "model.transition");
  const Eigen::MatrixXd emission = softmax_rows(program, parameters, "model.emission");
  const int tags = program.num_tags();
  return forward_log_z(x, transition.rows(), start, [&](int symbol) -> Eigen::MatrixXd {
    const Eigen::VectorXd of_any_tag = emission.middleCols(symbol * tags, tags).rowwise().sum();
    return transition * of_any_tag.asDiagonal();
  });
}
/// Every sequence starts from the latent state BOS, which is 0.
inline double oohmm_log_z(const Program& program, const Parameters& parameters,
                          const std::vector<int>& x) {
  return oohmm_log_beta(program, parameters, x, 0);
}

}  // namespace scry::test
