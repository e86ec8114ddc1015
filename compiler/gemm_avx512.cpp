// The AVX-512 kernels; compiled with -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma, called only
// where the processor has them all.
#if defined(__x86_64__)

#include <immintrin.h>

#include "compiler/gemm_tile.h"

namespace scry::avx512 {
namespace {

struct Float {
  using T = float;
  using Reg = __m512;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;
  static constexpr int kMaxRows = 8, kMaxVecs = 8;
  static constexpr int max_vecs(int64_t rows) { return rows == 1 ? 8 : 3; }

  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg set(T x) { return _mm512_set1_ps(x); }
  static Reg broadcast(const T* p) { return _mm512_set1_ps(*p); }
  static Reg load(const T* p) { return _mm512_loadu_ps(p); }
  static Reg load(const T* p, Mask m) { return _mm512_maskz_loadu_ps(m, p); }
  static void store(T* p, Reg r) { _mm512_storeu_ps(p, r); }
  static void store(T* p, Reg r, Mask m) { _mm512_mask_storeu_ps(p, m, r); }
  static Mask mask(int count) { return static_cast<Mask>((1u << count) - 1); }
  static Reg mul(Reg x, Reg y) { return _mm512_mul_ps(x, y); }
  static Reg fma(Reg x, Reg y, Reg z) { return _mm512_fmadd_ps(x, y, z); }
  static T fma1(T x, T y, T z) { return __builtin_fmaf(x, y, z); }

  static void pack_transposed(const T* src, int64_t ld, int64_t k, int64_t n, T* dst,
                              int64_t dst_ld) {
    avx2::pack_transposed(src, ld, k, n, dst, dst_ld);
  }
  static void dot(const GemmArgs<T>& g) { avx2::sgemm(g); }
};

struct Double {
  using T = double;
  using Reg = __m512d;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;
  static constexpr int kMaxRows = 8, kMaxVecs = 8;
  static constexpr int max_vecs(int64_t rows) { return rows == 1 ? 8 : 3; }

  static Reg zero() { return _mm512_setzero_pd(); }
  static Reg set(T x) { return _mm512_set1_pd(x); }
  static Reg broadcast(const T* p) { return _mm512_set1_pd(*p); }
  static Reg load(const T* p) { return _mm512_loadu_pd(p); }
  static Reg load(const T* p, Mask m) { return _mm512_maskz_loadu_pd(m, p); }
  static void store(T* p, Reg r) { _mm512_storeu_pd(p, r); }
  static void store(T* p, Reg r, Mask m) { _mm512_mask_storeu_pd(p, m, r); }
  static Mask mask(int count) { return static_cast<Mask>((1u << count) - 1); }
  static Reg mul(Reg x, Reg y) { return _mm512_mul_pd(x, y); }
  static Reg fma(Reg x, Reg y, Reg z) { return _mm512_fmadd_pd(x, y, z); }
  static T fma1(T x, T y, T z) { return __builtin_fma(x, y, z); }

  static void pack_transposed(const T* src, int64_t ld, int64_t k, int64_t n, T* dst,
                              int64_t dst_ld) {
    avx2::pack_transposed(src, ld, k, n, dst, dst_ld);
  }
  static void dot(const GemmArgs<T>& g) { avx2::dgemm(g); }
};

}  // namespace

// A product too narrow for more than half a vector is left to half-width vectors.
void sgemm(const GemmArgs<float>& args) {
  args.n <= Float::kLanes / 2 ? avx2::sgemm(args) : GemmTile<Float>::run(args);
}
void dgemm(const GemmArgs<double>& args) {
  args.n <= Double::kLanes / 2 ? avx2::dgemm(args) : GemmTile<Double>::run(args);
}

}  // namespace scry::avx512

#endif
