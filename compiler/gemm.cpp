#include "compiler/gemm.h"

#include <algorithm>

#include "compiler/gemm_tile.h"

namespace scry {
namespace {

constexpr GemmKernels kKernels[] = {
#if defined(__x86_64__)
    {"avx512f", avx512::sgemm, avx512::dgemm},
    {"avx2+fma", avx2::sgemm, avx2::dgemm},
#endif
    {"portable", portable::sgemm, portable::dgemm},
};

/// The instruction sets form a chain, so those available are a suffix of kKernels.
std::span<const GemmKernels> detect() {
  std::span<const GemmKernels> all = kKernels;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw");
  return all.subspan(avx512 ? 0 : avx2 ? 1 : 2);
#else
  return all;
#endif
}

const GemmKernels& chosen() {
  static const GemmKernels kernels = available_kernels().front();
  return kernels;
}

constexpr int kColMajor = 102;
constexpr int kNoTrans = 111;

template <class T>
void cblas_gemm(void (*kernel)(const GemmArgs<T>&), int order, int trans_a, int trans_b, int m,
                int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c,
                int ldc) {
  const bool ta = trans_a != kNoTrans, tb = trans_b != kNoTrans;
  if (order == kColMajor) {
    // The row-major reading of a column-major matrix is its transpose: C^T = op(B)^T op(A)^T.
    kernel({tb, ta, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc});
  } else {
    kernel({ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
  }
}

template <class T>
void cblas_lascl(int order, T cfrom, T cto, int m, int n, T* a, int lda, int* info) {
  const bool invalid = cfrom == 0 || cfrom != cfrom;
  *info = invalid ? -5 : 0;
  if (invalid) return;
  const int64_t rows = order == kColMajor ? n : m;
  const int64_t cols = order == kColMajor ? m : n;
  const T factor = cto / cfrom;
  if (factor == 1) return;
  if (cto == 0 && lda == cols) {
    std::fill_n(a, rows * cols, T(0));
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
    T* row = a + i * lda;
    for (int64_t j = 0; j < cols; ++j) row[j] = cto == 0 ? T(0) : row[j] * factor;
  }
}

}  // namespace

std::span<const GemmKernels> available_kernels() { return detect(); }

const char* gemm_isa() { return chosen().isa; }

void gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
          int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  chosen().sgemm({trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
}

void gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
          const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c,
          int64_t ldc) {
  chosen().dgemm({trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
}

}  // namespace scry

extern "C" {

void scry_cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                      const float* a, int lda, const float* b, int ldb, float beta, float* c,
                      int ldc) {
  scry::cblas_gemm(scry::chosen().sgemm, order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb,
                   beta, c, ldc);
}

void scry_cblas_dgemm(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                      const double* a, int lda, const double* b, int ldb, double beta, double* c,
                      int ldc) {
  scry::cblas_gemm(scry::chosen().dgemm, order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb,
                   beta, c, ldc);
}

void scry_cblas_slascl(int order, char, int, int, float cfrom, float cto, int m, int n, float* a,
                       int lda, int* info) {
  scry::cblas_lascl(order, cfrom, cto, m, n, a, lda, info);
}

void scry_cblas_dlascl(int order, char, int, int, double cfrom, double cto, int m, int n, double* a,
                       int lda, int* info) {
  scry::cblas_lascl(order, cfrom, cto, m, n, a, lda, info);
}
}
