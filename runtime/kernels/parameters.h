// The values of θ and φ, and the tables made of them.
#pragma once
#include "runtime/kernels/buffer.h"

namespace scry {

/// All parameters of a program, end to end as Program::params says, with the tables that `prepare`
/// makes of them.
class Parameters {
 public:
  explicit Parameters(const Program& program);
  /// As each parameter's Init says; a pure function of the seed and the parameter's index.
  static Parameters fresh(const Program& program, uint64_t seed);

  RealBuffer values, tables;

  /// Computes the tables. Call after every change of `values`.
  void prepare(const Program& program);
};

/// Gradients for `values` and `tables` of Parameters.
class Gradients {
 public:
  explicit Gradients(const Program& program);
  RealBuffer values, tables;

  void clear();
  /// Moves the tables' gradients into the parameters'. Call once, after the stages' gradients.
  void finish(const Program& program, const Parameters& parameters);
};

}  // namespace scry
