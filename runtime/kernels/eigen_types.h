// Eigen's types by their names alone. Headers that speak of them need no more; who uses what they
// speak of includes <Eigen/Core>, which takes as long to compile as the rest of <scry.h>.
#pragma once

namespace Eigen {
template <typename Scalar, int kRows, int kCols, int kOptions, int kMaxRows, int kMaxCols>
class Matrix;
template <typename Plain, int kOptions, typename Strides>
class Map;
template <int kOuter, int kInner>
class Stride;
}  // namespace Eigen

namespace scry {

/// Rows end to end, as kernels and files have them.
template <class Real>
using RealMatrix = Eigen::Matrix<Real, -1, -1, 1, -1, -1>;
template <class Real>
using RealVector = Eigen::Matrix<Real, -1, 1, 0, -1, 1>;

/// Such numbers where they are: of `const RealMatrix<Real>`, they cannot be written.
template <class Plain>
using MapOf = Eigen::Map<Plain, 0, Eigen::Stride<0, 0>>;

}  // namespace scry
