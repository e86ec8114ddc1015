// The AVX2 + FMA kernels; compiled with -mavx2 -mfma, called only where the processor has both.
#if defined(__x86_64__)

#include <immintrin.h>

#include "compiler/gemm_tile.h"

namespace scry::avx2 {
namespace {

struct Float {
  using T = float;
  using Reg = __m256;
  using Mask = __m256i;
  static constexpr int kLanes = 8, kBlock = 8;
  static constexpr int kMaxRows = 6, kMaxVecs = 8;
  static constexpr int max_vecs(int64_t rows) {
    return rows == 1 ? 8 : rows <= 3 ? 4 : rows == 4 ? 3 : 2;
  }

  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg set(T x) { return _mm256_set1_ps(x); }
  static Reg broadcast(const T* p) { return _mm256_broadcast_ss(p); }
  static Reg load(const T* p) { return _mm256_loadu_ps(p); }
  static Reg load(const T* p, Mask m) { return _mm256_maskload_ps(p, m); }
  static void store(T* p, Reg r) { _mm256_storeu_ps(p, r); }
  static void store(T* p, Reg r, Mask m) { _mm256_maskstore_ps(p, m, r); }
  static Mask mask(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Reg mul(Reg x, Reg y) { return _mm256_mul_ps(x, y); }
  static Reg fma(Reg x, Reg y, Reg z) { return _mm256_fmadd_ps(x, y, z); }
  static T fma1(T x, T y, T z) { return __builtin_fmaf(x, y, z); }

  static Reg load_halves(const T* low, const T* high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
  }
  /// Rows 4h .. 4h+3 of the transpose, from the halves of the source rows.
  template <int kHalf>
  static void transpose_half(const T* src, int64_t ld, T* dst, int64_t dst_ld) {
    src += 4 * kHalf;
    dst += 4 * kHalf * dst_ld;
    const Reg r0 = load_halves(src, src + 4 * ld);
    const Reg r1 = load_halves(src + ld, src + 5 * ld);
    const Reg r2 = load_halves(src + 2 * ld, src + 6 * ld);
    const Reg r3 = load_halves(src + 3 * ld, src + 7 * ld);
    const Reg a = _mm256_unpacklo_ps(r0, r1), b = _mm256_unpackhi_ps(r0, r1);
    const Reg c = _mm256_unpacklo_ps(r2, r3), d = _mm256_unpackhi_ps(r2, r3);
    store(dst, _mm256_shuffle_ps(a, c, 0x44));
    store(dst + dst_ld, _mm256_shuffle_ps(a, c, 0xee));
    store(dst + 2 * dst_ld, _mm256_shuffle_ps(b, d, 0x44));
    store(dst + 3 * dst_ld, _mm256_shuffle_ps(b, d, 0xee));
  }
  static void transpose(const T* src, int64_t ld, T* dst, int64_t dst_ld) {
    transpose_half<0>(src, ld, dst, dst_ld);
    transpose_half<1>(src, ld, dst, dst_ld);
  }

  static void pack_transposed(const T* src, int64_t ld, int64_t k, int64_t n, T* dst,
                              int64_t dst_ld) {
    GemmTile<Float>::pack_blocks(src, ld, k, n, dst, dst_ld);
  }

  static constexpr int kSumRows = 4;
  /// The lanes of x added by halves in the low half of the result, those of y in the high half.
  static Reg fold(const Reg (&x)[2], const Reg (&y)[2]) {
    const Reg a = _mm256_add_ps(x[0], x[1]), b = _mm256_add_ps(y[0], y[1]);
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
  }
  static void sum(const Reg (&x)[4][2], Reg scale, T* out) {
    const Reg a = fold(x[0], x[2]), b = fold(x[1], x[3]);
    const Reg ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    const __m128 low = _mm256_castps256_ps128(ab), high = _mm256_extractf128_ps(ab, 1);
    const __m128 s = _mm_add_ps(_mm_movelh_ps(low, high), _mm_movehl_ps(high, low));
    _mm_storeu_ps(out, _mm_mul_ps(_mm256_castps256_ps128(scale), s));
  }
  static void dot(const GemmArgs<T>& g) { GemmTile<Float>::dot_rows(g); }
};

struct Double {
  using T = double;
  using Reg = __m256d;
  using Mask = __m256i;
  static constexpr int kLanes = 4, kBlock = 4;
  static constexpr int kMaxRows = 6, kMaxVecs = 8;
  static constexpr int max_vecs(int64_t rows) {
    return rows == 1 ? 8 : rows <= 3 ? 4 : rows == 4 ? 3 : 2;
  }

  static Reg zero() { return _mm256_setzero_pd(); }
  static Reg set(T x) { return _mm256_set1_pd(x); }
  static Reg broadcast(const T* p) { return _mm256_broadcast_sd(p); }
  static Reg load(const T* p) { return _mm256_loadu_pd(p); }
  static Reg load(const T* p, Mask m) { return _mm256_maskload_pd(p, m); }
  static void store(T* p, Reg r) { _mm256_storeu_pd(p, r); }
  static void store(T* p, Reg r, Mask m) { _mm256_maskstore_pd(p, m, r); }
  static Mask mask(int count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static Reg mul(Reg x, Reg y) { return _mm256_mul_pd(x, y); }
  static Reg fma(Reg x, Reg y, Reg z) { return _mm256_fmadd_pd(x, y, z); }
  static T fma1(T x, T y, T z) { return __builtin_fma(x, y, z); }

  static Reg load_halves(const T* low, const T* high) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
  }
  static void transpose(const T* src, int64_t ld, T* dst, int64_t dst_ld) {
    for (int h = 0; h < 2; ++h) {
      const Reg r0 = load_halves(src + 2 * h, src + 2 * h + 2 * ld);
      const Reg r1 = load_halves(src + 2 * h + ld, src + 2 * h + 3 * ld);
      store(dst + 2 * h * dst_ld, _mm256_unpacklo_pd(r0, r1));
      store(dst + (2 * h + 1) * dst_ld, _mm256_unpackhi_pd(r0, r1));
    }
  }

  static void pack_transposed(const T* src, int64_t ld, int64_t k, int64_t n, T* dst,
                              int64_t dst_ld) {
    GemmTile<Double>::pack_blocks(src, ld, k, n, dst, dst_ld);
  }

  static constexpr int kSumRows = 4;
  static Reg fold(const Reg (&x)[2], const Reg (&y)[2]) {
    const Reg a = _mm256_add_pd(x[0], x[1]), b = _mm256_add_pd(y[0], y[1]);
    return _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
  }
  static void sum(const Reg (&x)[4][2], Reg scale, T* out) {
    const Reg a = fold(x[0], x[2]), b = fold(x[1], x[3]);
    store(out, mul(scale, _mm256_add_pd(_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b))));
  }
  static void dot(const GemmArgs<T>& g) { GemmTile<Double>::dot_rows(g); }
};

}  // namespace

void sgemm(const GemmArgs<float>& args) { GemmTile<Float>::run(args); }
void dgemm(const GemmArgs<double>& args) { GemmTile<Double>::run(args); }

void pack_transposed(const float* src, int64_t ld, int64_t k, int64_t n, float* dst,
                     int64_t dst_ld) {
  Float::pack_transposed(src, ld, k, n, dst, dst_ld);
}
void pack_transposed(const double* src, int64_t ld, int64_t k, int64_t n, double* dst,
                     int64_t dst_ld) {
  Double::pack_transposed(src, ld, k, n, dst, dst_ld);
}

}  // namespace scry::avx2

#endif
