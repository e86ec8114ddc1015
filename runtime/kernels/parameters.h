// The values of θ and φ, and the tables made of them.
#pragma once
#include <string_view>
#include <type_traits>

#include "runtime/kernels/buffer.h"
#include "runtime/kernels/eigen_types.h"

namespace scry {

/// The parameter of this name. Throws Error, with the names that there are.
const Block& find_parameter(const Program& program, std::string_view name);
/// Throws Error if the block's numbers have another precision.
void check_precision(const RealBuffer& values, const Block& block, Precision wanted);

/// Numbers of a program's parameters by name, as Eigen's matrices and vectors. They are views: what
/// is written to them is written to the parameters (call Parameters::prepare afterwards). The class
/// that derives has the numbers in `values`. Include <Eigen/Core> to use them.
template <class Derived>
class NamedNumbers {
 public:
  /// [rows, columns]; one column if the parameter is a vector or a number. Throws Error if there is
  /// no such parameter, or if Real is not the program's precision.
  template <class Real>
  MapOf<RealMatrix<Real>> matrix(const Program& program, std::string_view name) {
    const Block& block = find_parameter(program, name);
    return {address<Real>(derived().values, block), num_rows(block), num_columns(block)};
  }
  template <class Real>
  MapOf<const RealMatrix<Real>> matrix(const Program& program, std::string_view name) const {
    const Block& block = find_parameter(program, name);
    return {address<Real>(derived().values, block), num_rows(block), num_columns(block)};
  }
  /// All of its numbers, row by row.
  template <class Real>
  MapOf<RealVector<Real>> vector(const Program& program, std::string_view name) {
    const Block& block = find_parameter(program, name);
    return {address<Real>(derived().values, block), block.shape.size()};
  }
  template <class Real>
  MapOf<const RealVector<Real>> vector(const Program& program, std::string_view name) const {
    const Block& block = find_parameter(program, name);
    return {address<Real>(derived().values, block), block.shape.size()};
  }

 private:
  Derived& derived() { return static_cast<Derived&>(*this); }
  const Derived& derived() const { return static_cast<const Derived&>(*this); }
  static int64_t num_rows(const Block& block) {
    return block.shape.rank() == 0 ? 1 : block.shape[0];
  }
  static int64_t num_columns(const Block& block) {
    return block.shape.rank() < 2 ? 1 : block.shape[1];
  }
  template <class Real, class Buffer>
  static auto* address(Buffer& values, const Block& block) {
    constexpr bool is_double = std::is_same_v<Real, double>;
    static_assert(is_double || std::is_same_v<Real, float>, "parameters are floats or doubles");
    check_precision(values, block, is_double ? Precision::kDouble : Precision::kFloat);
    using Number = std::conditional_t<std::is_const_v<Buffer>, const Real, Real>;
    return static_cast<Number*>(values.at(block.offset));
  }
};
/// All parameters of a program, end to end as Program::params says, with the tables that `prepare`
/// makes of them.
class Parameters : public NamedNumbers<Parameters> {
 public:
  explicit Parameters(const Program& program);
  /// As each parameter's Init says; a pure function of the seed and the parameter's index.
  static Parameters fresh(const Program& program, uint64_t seed);

  RealBuffer values, tables;

  /// Computes the tables. Call after every change of `values`.
  void prepare(const Program& program);
};

/// Gradients for `values` and `tables` of Parameters.
class Gradients : public NamedNumbers<Gradients> {
 public:
  explicit Gradients(const Program& program);
  RealBuffer values, tables;

  void clear();
  void add(const Gradients& other);
  /// Moves the tables' gradients into the parameters'. Call once, after the stages' gradients.
  void finish(const Program& program, const Parameters& parameters);
};

}  // namespace scry
