// The kernels for the target's baseline, on 16-byte vectors (SSE2, NEON).
#include "compiler/gemm_tile.h"

namespace scry::portable {
namespace {

float multiply_add(float x, float y, float z) {
#ifdef __FP_FAST_FMAF
  return __builtin_fmaf(x, y, z);
#else
  return x * y + z;
#endif
}
double multiply_add(double x, double y, double z) {
#ifdef __FP_FAST_FMA
  return __builtin_fma(x, y, z);
#else
  return x * y + z;
#endif
}

template <class Element>
struct Vector {
  using T = Element;
  typedef T Reg __attribute__((vector_size(16)));
  using Mask = int;
  static constexpr int kLanes = 16 / sizeof(T), kBlock = 4;
  static constexpr int kMaxRows = 6, kMaxVecs = 8;
  static constexpr int max_vecs(int64_t rows) { return rows == 1 ? 8 : rows <= 3 ? 4 : 2; }

  static Reg zero() { return Reg{}; }
  static Reg set(T x) { return Reg{} + x; }
  static Reg broadcast(const T* p) { return Reg{} + *p; }
  static Reg load(const T* p) { return load(p, kLanes); }
  static Reg load(const T* p, Mask count) {
    Reg r = {};
    __builtin_memcpy(&r, p, count * sizeof(T));
    return r;
  }
  static void store(T* p, Reg r) { store(p, r, kLanes); }
  static void store(T* p, Reg r, Mask count) { __builtin_memcpy(p, &r, count * sizeof(T)); }
  static Mask mask(int count) { return count; }
  static Reg mul(Reg x, Reg y) { return x * y; }
  static Reg fma(Reg x, Reg y, Reg z) {
    Reg r;
    for (int i = 0; i < kLanes; ++i) r[i] = multiply_add(x[i], y[i], z[i]);
    return r;
  }
  static T fma1(T x, T y, T z) { return multiply_add(x, y, z); }

  static void transpose(const T* src, int64_t ld, T* dst, int64_t dst_ld) {
    for (int p = 0; p < kBlock; ++p) {
      for (int j = 0; j < kBlock; ++j) dst[p * dst_ld + j] = src[j * ld + p];
    }
  }

  static void pack_transposed(const T* src, int64_t ld, int64_t k, int64_t n, T* dst,
                              int64_t dst_ld) {
    GemmTile<Vector>::pack_blocks(src, ld, k, n, dst, dst_ld);
  }

  static constexpr int kSumRows = 4;
  static void sum(const Reg (&x)[4][4], Reg scale, T* out) {
    for (int i = 0; i < 4; ++i) {
      const Reg s = (x[i][0] + x[i][2]) + (x[i][1] + x[i][3]);
      if constexpr (kLanes == 4) {
        out[i] = scale[0] * ((s[0] + s[2]) + (s[1] + s[3]));
      } else {
        out[i] = scale[0] * (s[0] + s[1]);
      }
    }
  }
  static void dot(const GemmArgs<T>& g) { GemmTile<Vector>::dot_rows(g); }
};

}  // namespace

void sgemm(const GemmArgs<float>& args) { GemmTile<Vector<float>>::run(args); }
void dgemm(const GemmArgs<double>& args) { GemmTile<Vector<double>>::run(args); }

}  // namespace scry::portable
