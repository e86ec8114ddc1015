/// \file
/// Matrix products for compiled models: the targets of the `cblas_?gemm` calls in generated code.
///
/// Row i of a result is the same bits whatever the other rows are and however many there are, so a
/// particle's arithmetic does not depend on the batch it was evaluated in. The AVX2 and AVX-512
/// kernels agree bit for bit; the portable one may differ from them where the target has no FMA.
#pragma once

#include <cstdint>
#include <span>

namespace scry {

/// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C, all row-major.
/// C is not read when beta is 0; A and B are not read when alpha or k is 0. C overlaps neither.
/// Allocates nothing, keeps no state, may be called from any thread.
void gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
          int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
void gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
          const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c,
          int64_t ldc);

/// What the run-time dispatch chose: "avx512f", "avx2+fma" or "portable".
const char* gemm_isa();

/// The arguments of gemm().
template <class T>
struct GemmArgs {
  bool trans_a, trans_b;
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T beta;
  T* c;
  int64_t ldc;
};

/// The kernels of one instruction set.
struct GemmKernels {
  const char* isa;
  void (*sgemm)(const GemmArgs<float>&);
  void (*dgemm)(const GemmArgs<double>&);
};

/// The kernels this processor can run, fastest first; gemm() uses the first.
std::span<const GemmKernels> available_kernels();

}  // namespace scry

extern "C" {

/// The CBLAS C interface: order is 101 (row-major) or 102 (column-major), trans 111 (as is),
/// 112 or 113 (transposed).
/// Code for Enzyme to differentiate should say 102 with the operands exchanged, which runs the same
/// kernel: Enzyme saves operands that may be overwritten as if they were column-major.
void scry_cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                      const float* a, int lda, const float* b, int ldb, float beta, float* c,
                      int ldc);
void scry_cblas_dgemm(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                      const double* a, int lda, const double* b, int ldb, double beta, double* c,
                      int ldc);

/// A[m,n] *= cto / cfrom: the `cblas_?lascl` that Enzyme's reverse of a gemm calls on the shadow of
/// C, with cfrom = 1 and cto = beta. cto == 0 sets zeros whatever A holds, as beta == 0 does in the
/// primal. `type` is always 'G' (a full matrix); kl and ku are unused. *info is 0, or -i when
/// argument i is invalid and A untouched.
void scry_cblas_slascl(int order, char type, int kl, int ku, float cfrom, float cto, int m, int n,
                       float* a, int lda, int* info);
void scry_cblas_dlascl(int order, char type, int kl, int ku, double cfrom, double cto, int m, int n,
                       double* a, int lda, int* info);
}
