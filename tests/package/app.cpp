#include <scry.h>

#include <Eigen/Core>

int main() {
  scry::Ensemble ensemble;
  ensemble.length = 2;
  const Eigen::MatrixXd marginals = ensemble.tag_marginals(3);
  return scry::version()[0] == '\0' || marginals.size() != 6;
}
