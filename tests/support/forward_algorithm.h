// log Z of the lessons' HMM and OOHMM by the forward algorithm: an oracle for exact sampling.
#pragma once
#include <Eigen/Core>
#include <cmath>
#include <string>
#include <vector>

#include "runtime/kernels/parameters.h"

namespace scry::test {

/// The rows of a parameter's logits, as probabilities.
inline Eigen::MatrixXd softmax_rows(const Program& program, const Parameters& parameters,
                                    const std::string& name) {
  Eigen::MatrixXd p = program.precision == Precision::kDouble
                          ? Eigen::MatrixXd(parameters.matrix<double>(program, name))
                          : Eigen::MatrixXd(parameters.matrix<float>(program, name).cast<double>());
  p = p.array().exp();
  return p.array().colwise() / p.rowwise().sum().array();
}

/// log p(x) by the forward algorithm, for p(to | from) and p(x | to); the first state is `start`,
/// which the last row of `transition` may be for alone.
inline double forward_log_z(const std::vector<int>& x, const Eigen::MatrixXd& transition,
                            const Eigen::MatrixXd& emission, int start) {
  Eigen::RowVectorXd alpha = transition.row(start);
  for (size_t t = 0; t < x.size(); ++t) {
    if (t > 0) alpha = alpha * transition.topRows(transition.cols());
    alpha = alpha.cwiseProduct(emission.col(x[t]).transpose());
  }
  return std::log(alpha.sum());
}

inline double hmm_log_z(const Program& program, const Parameters& parameters,
                        const std::vector<int>& x) {
  return forward_log_z(x, softmax_rows(program, parameters, "model.transition"),
                       softmax_rows(program, parameters, "model.emission"), program.num_tags());
}

/// log p(x | u_0 = start), the logarithm of β_0 (eq:beta-oohmm).
inline double oohmm_log_beta(const Program& program, const Parameters& parameters,
                             const std::vector<int>& x, int start) {
  const Eigen::MatrixXd pairs = softmax_rows(program, parameters, "model.emission");
  const int tags = program.num_tags();
  Eigen::MatrixXd emission(pairs.rows(), pairs.cols() / tags);  // summed over tags
  for (int symbol = 0; symbol < emission.cols(); ++symbol)
    emission.col(symbol) = pairs.middleCols(symbol * tags, tags).rowwise().sum();
  return forward_log_z(x, softmax_rows(program, parameters, "model.transition"), emission, start);
}
/// Every sequence starts from the latent state BOS, which is 0.
inline double oohmm_log_z(const Program& program, const Parameters& parameters,
                          const std::vector<int>& x) {
  return oohmm_log_beta(program, parameters, x, 0);
}

}  // namespace scry::test
