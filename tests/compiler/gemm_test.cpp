#include "compiler/gemm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/catch.h"

namespace {

using scry::GemmArgs;
using scry::GemmKernels;

template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

template <class T>
void run(const GemmKernels& kernels, const GemmArgs<T>& args) {
  if constexpr (std::is_same_v<T, float>) {
    kernels.sgemm(args);
  } else {
    kernels.dgemm(args);
  }
}

/// Whether the kernels fuse, so that their bits are those of std::fma.
bool is_fused(const GemmKernels& kernels) { return std::string(kernels.isa) != "portable"; }

/// A stored matrix. The padding at the ends of its rows is NaN, its last row has none: an access
/// past the end is one past the allocation, for the address sanitizer to see.
template <class T>
struct Matrix {
  int64_t rows, cols, ld;
  std::vector<T> data;

  Matrix(int64_t rows, int64_t cols, int64_t padding)
      : rows(rows),
        cols(cols),
        ld(cols + padding),
        data(rows * cols == 0 ? 0 : (rows - 1) * ld + cols, kNan<T>) {}

  T& at(int64_t i, int64_t j) { return data[i * ld + j]; }
  T at(int64_t i, int64_t j) const { return data[i * ld + j]; }

  template <class F>
  void fill(F f) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) at(i, j) = f();
    }
  }
};

template <class T>
bool same_bits(const Matrix<T>& x, const Matrix<T>& y) {
  return x.data.size() == y.data.size() &&
         (x.data.empty() ||
          std::memcmp(x.data.data(), y.data.data(), x.data.size() * sizeof(T)) == 0);
}

/// A product with random operands.
template <class T>
struct Problem {
  bool trans_a, trans_b;
  int64_t m, n, k;
  T alpha, beta;
  Matrix<T> a, b, c;

  Problem(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, T alpha = 1, T beta = 0,
          int64_t padding = 0)
      : trans_a(trans_a),
        trans_b(trans_b),
        m(m),
        n(n),
        k(k),
        alpha(alpha),
        beta(beta),
        a(trans_a ? k : m, trans_a ? m : k, padding),
        b(trans_b ? n : k, trans_b ? k : n, padding),
        c(m, n, padding) {
    std::mt19937 random(static_cast<unsigned>(m * 10007 + n * 101 + k));
    const auto draw = [&] { return T(random()) / T(1u << 31) - 1; };
    a.fill(draw);
    b.fill(draw);
    c.fill(draw);
  }

  T a_at(int64_t i, int64_t p) const { return trans_a ? a.at(p, i) : a.at(i, p); }
  T b_at(int64_t p, int64_t j) const { return trans_b ? b.at(j, p) : b.at(p, j); }

  Matrix<T> product(const GemmKernels& kernels) const { return product(kernels, 0, m); }

  /// Rows [first, first + count) alone.
  Matrix<T> product(const GemmKernels& kernels, int64_t first, int64_t count) const {
    Matrix<T> result(count, n, c.ld - c.cols);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < n; ++j) result.at(i, j) = c.at(first + i, j);
    }
    run<T>(kernels,
           {trans_a, trans_b, count, n, k, alpha, a.data.data() + (trans_a ? first : first * a.ld),
            a.ld, b.data.data(), b.ld, beta, result.data.data(), result.ld});
    return result;
  }

  /// The largest error, in units of the rounding error a product in this precision may have.
  double error(const Matrix<T>& result) const {
    double worst = 0;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0, size = 0;
        for (int64_t p = 0; p < k; ++p) {
          const double term = double(a_at(i, p)) * double(b_at(p, j));
          sum += term;
          size += std::abs(term);
        }
        const double old = beta == 0 ? 0 : double(beta) * double(c.at(i, j));
        const double scale = std::abs(alpha) * size + std::abs(old);
        const double bound = (2 * k + 4) * std::numeric_limits<T>::epsilon() * scale;
        const double e = std::abs(double(result.at(i, j)) - (alpha * sum + old));
        if (!(e <= bound)) worst = std::max(worst, bound > 0 ? e / bound : 1e30);
      }
    }
    return worst;
  }

  /// Whether the padding between rows of a result is as it was made.
  bool padding_is_intact(const Matrix<T>& result) const {
    for (int64_t i = 0; n > 0 && i + 1 < m; ++i) {
      for (int64_t j = n; j < result.ld; ++j) {
        if (!std::isnan(result.at(i, j))) return false;
      }
    }
    return true;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("a product agrees with its definition in every shape and transposition",
                   "[gemm]", float, double) {
  using T = TestType;
  for (const GemmKernels& kernels : scry::available_kernels()) {
    for (int64_t m : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 50}) {
      for (int64_t n : {0, 1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 31, 33, 48, 49, 100, 150}) {
        for (int64_t k : {0, 1, 2, 7, 8, 9, 16, 21, 40}) {
          for (int form = 0; form < 8; ++form) {
            const int64_t padding = form < 4 ? 0 : 3;
            const T alpha = form < 4 ? 1 : T(-0.5), beta = form % 3 == 0 ? 0 : T(form) / 4;
            const Problem<T> x(form & 1, form & 2, m, n, k, alpha, beta, padding);
            const Matrix<T> result = x.product(kernels);
            INFO(kernels.isa << " m " << m << " n " << n << " k " << k << " form " << form);
            // REQUIRE is slow: only what is wrong, and one line of what is right.
            if (x.error(result) != 0) REQUIRE(x.error(result) == 0);
            if (!x.padding_is_intact(result)) REQUIRE(x.padding_is_intact(result));
          }
        }
      }
    }
    SUCCEED(kernels.isa);
  }
}

TEMPLATE_TEST_CASE("a product whose panels are packed in blocks agrees with its definition",
                   "[gemm]", float, double) {
  using T = TestType;
  for (const GemmKernels& kernels : scry::available_kernels()) {
    for (int64_t k : {129, 512, 1030}) {
      for (int64_t m : {1, 40, 101}) {
        for (int64_t n : {1, 7, 70, 128}) {
          for (int form = 0; form < 4; ++form) {
            const Problem<T> x(form & 1, form & 2, m, n, k, 2, T(0.5), form);
            const Matrix<T> result = x.product(kernels);
            INFO(kernels.isa << " m " << m << " n " << n << " k " << k << " form " << form);
            REQUIRE(x.error(result) == 0);
            REQUIRE(x.padding_is_intact(result));
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("a row of a product does not depend on its neighbours", "[gemm]", float,
                   double) {
  using T = TestType;
  for (const GemmKernels& kernels : scry::available_kernels()) {
    for (int64_t n : {1, 3, 8, 20, 32, 96, 129}) {
      for (int64_t k : {1, 19, 32, 160, 700}) {
        for (int form = 0; form < 4; ++form) {
          const Problem<T> x(form & 1, form & 2, 67, n, k, T(1.5), T(0.25));
          const Matrix<T> whole = x.product(kernels);
          INFO(kernels.isa << " n " << n << " k " << k << " form " << form);
          for (int64_t count : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 32, 50, 66}) {
            for (int64_t first = 0; first + count <= x.m; first += 9) {
              const Matrix<T> part = x.product(kernels, first, count);
              if (std::memcmp(part.data.data(), whole.data.data() + first * n,
                              part.data.size() * sizeof(T)) != 0) {
                FAIL("rows " << first << " to " << first + count);
              }
            }
          }
        }
      }
    }
    SUCCEED(kernels.isa);
  }
}

TEMPLATE_TEST_CASE("an element of a product is one chain of fused steps in the order of k",
                   "[gemm]", float, double) {
  using T = TestType;
  for (const GemmKernels& kernels : scry::available_kernels()) {
    if (!is_fused(kernels)) continue;
    for (int64_t n : {2, 16, 50}) {
      for (int64_t k : {1, 32, 900}) {
        for (int form = 0; form < 4; ++form) {
          const Problem<T> x(form & 1, form & 2, 35, n, k, 3, T(0.7));
          Matrix<T> expected(x.m, n, 0);
          for (int64_t i = 0; i < x.m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              T acc = 0;
              for (int64_t p = 0; p < k; ++p) acc = std::fma(x.a_at(i, p), x.b_at(p, j), acc);
              const T scaled = x.alpha * acc;
              expected.at(i, j) = std::fma(x.beta, x.c.at(i, j), scaled);
            }
          }
          INFO(kernels.isa << " n " << n << " k " << k << " form " << form);
          REQUIRE(same_bits(x.product(kernels), expected));
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("instruction sets with fused multiply-add agree to the last bit", "[gemm]",
                   float, double) {
  using T = TestType;
  std::vector<GemmKernels> fused;
  for (const GemmKernels& kernels : scry::available_kernels()) {
    if (is_fused(kernels)) fused.push_back(kernels);
  }
  for (size_t i = 1; i < fused.size(); ++i) {
    for (int64_t n : {1, 2, 5, 9, 32, 100}) {
      for (int64_t k : {1, 5, 16, 33, 64, 650}) {
        for (int form = 0; form < 4; ++form) {
          const Problem<T> x(form & 1, form & 2, 41, n, k, T(0.3), T(1.1), form);
          INFO(fused[i].isa << " n " << n << " k " << k << " form " << form);
          REQUIRE(same_bits(x.product(fused[0]), x.product(fused[i])));
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("a beta of zero does not read the old result", "[gemm]", float, double) {
  using T = TestType;
  for (const GemmKernels& kernels : scry::available_kernels()) {
    for (int64_t n : {1, 7, 40}) {
      for (int64_t k : {0, 3, 32}) {
        for (int form = 0; form < 4; ++form) {
          Problem<T> x(form & 1, form & 2, 13, n, k);
          x.c.fill([] { return kNan<T>; });
          INFO(kernels.isa << " n " << n << " k " << k << " form " << form);
          REQUIRE(x.error(x.product(kernels)) == 0);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("an alpha of zero does not read the operands", "[gemm]", float, double) {
  using T = TestType;
  for (const GemmKernels& kernels : scry::available_kernels()) {
    for (T beta : {T(0), T(1), T(2)}) {
      const Problem<T> x(false, false, 5, 9, 4);
      Matrix<T> c = x.c;
      run<T>(kernels, {false, false, 5, 9, 4, 0, nullptr, 4, nullptr, 9, beta, c.data.data(), 9});
      bool scaled = true;
      for (size_t i = 0; i < c.data.size(); ++i) scaled &= c.data[i] == beta * x.c.data[i];
      INFO(kernels.isa << " beta " << beta);
      REQUIRE(scaled);
    }
  }
}

TEST_CASE("gemm runs the first of the available kernels", "[gemm]") {
  const GemmKernels& first = scry::available_kernels().front();
  REQUIRE(std::string(scry::gemm_isa()) == first.isa);
  REQUIRE(std::string(scry::available_kernels().back().isa) == "portable");
  const Problem<float> x(false, true, 9, 33, 12, 1, 1);
  Matrix<float> c = x.c;
  scry::gemm(false, true, 9, 33, 12, 1.0f, x.a.data.data(), x.a.ld, x.b.data.data(), x.b.ld, 1.0f,
             c.data.data(), c.ld);
  REQUIRE(same_bits(c, x.product(first)));
}

TEST_CASE("the CBLAS interface reads row-major and column-major matrices", "[gemm]") {
  for (int form = 0; form < 4; ++form) {
    const bool ta = form & 1, tb = form & 2;
    const Problem<double> x(ta, tb, 6, 11, 5, 1.5, 0.5, 2);
    Matrix<double> row_major = x.c;
    scry_cblas_dgemm(101, ta ? 113 : 111, tb ? 112 : 111, 6, 11, 5, 1.5, x.a.data.data(),
                     int(x.a.ld), x.b.data.data(), int(x.b.ld), 0.5, row_major.data.data(),
                     int(row_major.ld));
    REQUIRE(x.error(row_major) == 0);
    // The same memory as column-major matrices: C^T = op(B)^T op(A)^T.
    Matrix<double> col_major = x.c;
    scry_cblas_dgemm(102, tb ? 112 : 111, ta ? 112 : 111, 11, 6, 5, 1.5, x.b.data.data(),
                     int(x.b.ld), x.a.data.data(), int(x.a.ld), 0.5, col_major.data.data(),
                     int(col_major.ld));
    REQUIRE(same_bits(row_major, col_major));
  }
}

TEST_CASE("lascl scales a matrix and leaves its padding alone", "[gemm]") {
  const float nan = kNan<float>;
  int info = 7;
  std::vector<float> a = {1, 2, 3, -1, 4, 5, 6, -1};
  scry_cblas_slascl(101, 'G', 0, 0, 2, 4, 2, 3, a.data(), 4, &info);
  REQUIRE(a == std::vector<float>{2, 4, 6, -1, 8, 10, 12, -1});
  REQUIRE(info == 0);
  scry_cblas_slascl(102, 'G', 0, 0, 1, 0.5, 3, 2, a.data(), 4, &info);
  REQUIRE(a == std::vector<float>{1, 2, 3, -1, 4, 5, 6, -1});
  a = {nan, 2, 3, -1, 4, nan, 6, -1};
  scry_cblas_slascl(101, 'G', 0, 0, 1, 0, 2, 3, a.data(), 4, &info);
  REQUIRE(a == std::vector<float>{0, 0, 0, -1, 0, 0, 0, -1});
  REQUIRE(info == 0);
  std::vector<double> b = {1, 2};
  scry_cblas_dlascl(101, 'G', 0, 0, 0, 1, 1, 2, b.data(), 2, &info);
  REQUIRE(info == -5);
  REQUIRE(b == std::vector<double>{1, 2});
}
