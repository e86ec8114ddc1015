/// \file
/// The matrix product over an instruction set `V`, compiled once per instruction set.
///
/// `V` lives in its translation unit's anonymous namespace, so every instantiation here has
/// internal linkage: the linker cannot replace one instruction set's code by another's. For the
/// same reason nothing here calls an inline function of the standard library.
///
/// `V` describes a vector of kLanes elements T:
///   Reg, Mask, zero(), set(x), broadcast(p), load(p), store(p, r), mask(count),
///   load(p, mask) and store(p, r, mask), which touch no memory where the mask is off,
///   mul(x, y), fma(x, y, z) = x * y + z, and fma1, which rounds scalars as fma does;
/// how to use it:
///   kMaxRows: the rows of the tallest register tile, kMaxVecs: the vectors of the widest,
///   max_vecs(rows): the vectors at which a tile of `rows` still fits the registers;
/// and what is not arithmetic on one vector:
///   pack_transposed(src, ld, k, n, dst, dst_ld): dst[p][j] = src[j][p] for p < k, j < n,
///   dot(args): the product if n is 1 and A's rows and b are contiguous.
/// GemmTile has these two by blocks, for a V with
///   kBlock, transpose(src, ld, dst, dst_ld): kBlock x kBlock elements,
///   kSumRows, sum(rows, scale, out): out[r] = scale * the lanes of row r, added by halves.
#pragma once

#include <cstdint>
#include <utility>

#include "compiler/gemm.h"

namespace scry {

namespace portable {
void sgemm(const GemmArgs<float>& args);
void dgemm(const GemmArgs<double>& args);
}  // namespace portable
namespace avx2 {
void sgemm(const GemmArgs<float>& args);
void dgemm(const GemmArgs<double>& args);
// Shared with AVX-512, where wider vectors gain nothing.
void pack_transposed(const float* src, int64_t ld, int64_t k, int64_t n, float* dst,
                     int64_t dst_ld);
void pack_transposed(const double* src, int64_t ld, int64_t k, int64_t n, double* dst,
                     int64_t dst_ld);
}  // namespace avx2
namespace avx512 {
void sgemm(const GemmArgs<float>& args);
void dgemm(const GemmArgs<double>& args);
}  // namespace avx512

/// Every element of a result is one chain acc = fma(a, b, acc) over k from 0 up, then alpha * acc,
/// then fma(beta, c, that): the same in every tile shape, packed or not. The exception is a column
/// (n == 1) with contiguous operands, see dot_rows.
template <class V>
class GemmTile {
  using T = typename V::T;
  using Reg = typename V::Reg;
  static constexpr int64_t kLanes = V::kLanes;

  /// Elements of the packed panel of B, and rows whose chains are kept between its k-blocks.
  static constexpr int64_t kPackSize = 32768 / sizeof(T);
  static constexpr int64_t kPartialRows = 48;
  static_assert(sizeof(T) * (kPackSize + kPartialRows * V::kMaxVecs * kLanes) <= 65536);

 public:
  static void run(const GemmArgs<T>& g) {
    if (g.m <= 0 || g.n <= 0) return;
    if (g.k <= 0 || g.alpha == 0) return scale(g);
    const int64_t a_row = g.trans_a ? 1 : g.lda, a_step = g.trans_a ? g.lda : 1;
    if (g.n == 1) {
      const int64_t b_step = g.trans_b ? 1 : g.ldb;
      if (!g.trans_a && b_step == 1) return V::dot(g);
      // A column of C is a row of its transpose: the product of b as a row and A as stored.
      if (g.trans_a && g.ldc == 1) {
        return direct({1, g.m, g.k, g.b, 0, b_step, g.a, g.lda, g.c, g.m, g.alpha, g.beta});
      }
    }
    const Product x = {g.m, g.n, g.k, g.a, a_row, a_step, g.b, g.ldb, g.c, g.ldc, g.alpha, g.beta};
    if (g.trans_b) return packed<true>(x);
    // Each row tile reads a panel of B anew. Rows of a large B lie far apart and compete for the
    // same cache sets and pages; with enough row tiles a copy pays.
    const bool large = g.k * g.ldb * int64_t{sizeof(T)} > 16384;
    return large && g.m >= 4 * V::kMaxRows ? packed<false>(x) : direct(x);
  }

  /// n == 1, rows of A and b contiguous. Element p goes to chain p % kSplit and V::sum adds the
  /// chains by halves, so the order depends on k alone. As many rows are computed at the end as
  /// elsewhere, by repeating the last one.
  static void dot_rows(const GemmArgs<T>& g) {
    constexpr int kSplit = 64 / sizeof(T);
    constexpr int kRegs = kSplit / kLanes;
    constexpr int kRows = V::kSumRows;
    const int64_t full = g.k - g.k % kSplit;
    typename V::Mask mask[kRegs];
    each<kRegs>([&]<int J>() {
      const int64_t count = g.k - full - J * kLanes;
      mask[J] = V::mask(static_cast<int>(count < 0 ? 0 : count < kLanes ? count : kLanes));
    });
    const T alpha = g.alpha, beta = g.beta;
    for (int64_t i = 0; i < g.m; i += kRows) {
      const int64_t rows = kRows < g.m - i ? kRows : g.m - i;
      const T* row[kRows] = {g.a + i * g.lda};
      Reg acc[kRows][kRegs];
      each<kRows>([&]<int R>() {
        if constexpr (R > 0) row[R] = row[R - 1] + (R < rows ? g.lda : 0);
        each<kRegs>([&]<int J>() { acc[R][J] = V::zero(); });
      });
      for (int64_t p = 0; p < full; p += kSplit) {
        each<kRegs>([&]<int J>() {
          const Reg y = V::load(g.b + p + J * kLanes);
          each<kRows>(
              [&]<int R>() { acc[R][J] = V::fma(V::load(row[R] + p + J * kLanes), y, acc[R][J]); });
        });
      }
      if (full < g.k) {
        each<kRegs>([&]<int J>() {
          const Reg y = V::load(g.b + full + J * kLanes, mask[J]);
          each<kRows>([&]<int R>() {
            acc[R][J] = V::fma(V::load(row[R] + full + J * kLanes, mask[J]), y, acc[R][J]);
          });
        });
      }
      T sum[kRows];
      V::sum(acc, V::set(alpha), sum);
      T* c = g.c + i * g.ldc;
      each<kRows>([&]<int R>() {
        if (R < rows) c[R * g.ldc] = beta == 0 ? sum[R] : V::fma1(beta, c[R * g.ldc], sum[R]);
      });
    }
  }

  /// V::pack_transposed by blocks: V::transpose does kBlock x kBlock elements.
  static void pack_blocks(const T* src, int64_t ld, int64_t k, int64_t n, T* dst, int64_t dst_ld) {
    constexpr int64_t kBlock = V::kBlock;
    const int64_t k_full = k - k % kBlock, n_full = n - n % kBlock;
    for (int64_t j = 0; j < n; j += kBlock) {
      const int64_t width = j < n_full ? kBlock : n - j;
      int64_t p = 0;
      if (width == kBlock) {
        for (; p < k_full; p += kBlock) {
          V::transpose(src + j * ld + p, ld, dst + p * dst_ld + j, dst_ld);
        }
      }
      for (; p < k; ++p) {
        for (int64_t q = j; q < j + width; ++q) dst[p * dst_ld + q] = src[q * ld + p];
      }
    }
  }

 private:
  /// A is read with strides; b is [k,n] with row stride ldb, or its transpose.
  struct Product {
    int64_t m, n, k;
    const T* a;
    int64_t a_row, a_step;
    const T* b;
    int64_t ldb;
    T* c;
    int64_t ldc;
    T alpha, beta;
  };

  /// k steps over a panel of B: what the register tiles of one column of them have in common.
  struct Panel {
    int64_t k, a_row, a_step;
    const T* b;
    int64_t ldb, ldc;
    T alpha, beta;
    int tail;      // The elements in use of a row's last vector, 1 .. kLanes.
    bool resume;   // The chains start from `partial`, not from 0.
    bool finish;   // The chains end in C, not in `partial`.
    bool fetch_c;  // C is unlikely to be in cache: ask for its lines before the k steps.
  };
  using Kernel = void (*)(const Panel&, const T* a, T* c, T* partial);

  /// Calls f.operator()<I>() for I = 0 .. N - 1: register arrays need constant indices.
  template <int N, class F>
  [[gnu::always_inline]] static void each(F f) {
    each(f, std::make_integer_sequence<int, N>());
  }
  template <class F, int... I>
  [[gnu::always_inline]] static void each(F f, std::integer_sequence<int, I...>) {
    (f.template operator()<I>(), ...);
  }

  template <int kRows, int kVecs, bool kTail>
  static void tile(const Panel& w, const T* a, T* c, T* partial) {
    constexpr auto kMasked = [](int j) { return kTail && j == kVecs - 1; };
    const auto mask = V::mask(w.tail);
    Reg acc[kRows][kVecs];
    each<kRows>([&]<int R>() { each<kVecs>([&]<int J>() { acc[R][J] = V::zero(); }); });
    if (w.fetch_c) {
      each<kRows>([&]<int R>() {
        each<kVecs>([&]<int J>() {
          if (J * kLanes * sizeof(T) % 64 == 0) __builtin_prefetch(c + R * w.ldc + J * kLanes, 1);
        });
      });
    }
    if (w.resume) {
      each<kRows>([&]<int R>() {
        each<kVecs>([&]<int J>() { acc[R][J] = V::load(partial + (R * kVecs + J) * kLanes); });
      });
    }
    const int64_t a_row = w.a_row, a_step = w.a_step, ldb = w.ldb, ldc = w.ldc;
    const T* b = w.b;
    for (int64_t p = w.k; p > 0; --p) {
      Reg y[kVecs];
      each<kVecs>([&]<int J>() {
        y[J] = kMasked(J) ? V::load(b + J * kLanes, mask) : V::load(b + J * kLanes);
      });
      each<kRows>([&]<int R>() {
        const Reg x = V::broadcast(a + R * a_row);
        each<kVecs>([&]<int J>() { acc[R][J] = V::fma(x, y[J], acc[R][J]); });
      });
      a += a_step;
      b += ldb;
    }
    if (!w.finish) {
      each<kRows>([&]<int R>() {
        each<kVecs>([&]<int J>() { V::store(partial + (R * kVecs + J) * kLanes, acc[R][J]); });
      });
      return;
    }
    const Reg alpha = V::set(w.alpha), beta = V::set(w.beta);
    const bool read_c = w.beta != 0;
    each<kRows>([&]<int R>() {
      each<kVecs>([&]<int J>() {
        T* to = c + R * ldc + J * kLanes;
        Reg r = V::mul(alpha, acc[R][J]);
        if (read_c) r = V::fma(beta, kMasked(J) ? V::load(to, mask) : V::load(to), r);
        kMasked(J) ? V::store(to, r, mask) : V::store(to, r);
      });
    });
  }

  template <int kRows, int kVecs>
  static constexpr Kernel kernel(bool tail) {
    if constexpr (kVecs <= V::max_vecs(kRows)) {
      return tail ? &tile<kRows, kVecs, true> : &tile<kRows, kVecs, false>;
    } else {
      return nullptr;
    }
  }

  struct Table {
    Kernel at[V::kMaxRows + 1][V::kMaxVecs + 1][2];  // By rows, vectors, whether there is a tail.
    int max_rows[V::kMaxVecs + 1];                   // By vectors.
  };
  template <int... R>
  static constexpr Table make_table(std::integer_sequence<int, R...>) {
    Table t = {};
    (add_row<R + 1>(t, std::make_integer_sequence<int, V::kMaxVecs>()), ...);
    return t;
  }
  template <int kRows, int... J>
  static constexpr void add_row(Table& t, std::integer_sequence<int, J...>) {
    ((t.at[kRows][J + 1][0] = kernel<kRows, J + 1>(false)), ...);
    ((t.at[kRows][J + 1][1] = kernel<kRows, J + 1>(true)), ...);
    ((t.max_rows[J + 1] = J < V::max_vecs(kRows) ? kRows : t.max_rows[J + 1]), ...);
  }
  static constexpr Table kTable = make_table(std::make_integer_sequence<int, V::kMaxRows>());

  static constexpr int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

  /// The vectors of the next panel, of `n` columns that are left: panels as wide as tiles of m rows
  /// allow, and of nearly equal width.
  static int panel_vecs(int64_t m, int64_t n) {
    const int64_t vecs = (n + kLanes - 1) / kLanes;
    const int64_t most = V::max_vecs(m < V::kMaxRows ? m : V::kMaxRows);
    return static_cast<int>(vecs <= most ? vecs : ceil_div(vecs, ceil_div(vecs, most)));
  }

  /// Rows [0, m) of a panel of `vecs` vectors, in tiles of nearly equal height: a short last tile
  /// would have too few chains to hide their latency.
  static void rows(const Panel& w, int64_t m, int vecs, const T* a, T* c, T* partial) {
    const int64_t most = kTable.max_rows[vecs];
    const bool tail = w.tail != kLanes;
    for (int64_t tiles = m <= most ? 1 : ceil_div(m, most); tiles > 1; --tiles) {
      const int64_t height = ceil_div(m, tiles);
      kTable.at[height][vecs][tail](w, a, c, partial);
      a += height * w.a_row;
      c += height * w.ldc;
      if (partial) partial += height * vecs * kLanes;
      m -= height;
    }
    kTable.at[m][vecs][tail](w, a, c, partial);
  }

  static bool is_large(const Product& x) { return x.m * x.ldc * int64_t{sizeof(T)} > 524288; }

  /// B is read in place.
  static void direct(const Product& x) {
    Panel w = {x.k,     x.a_row, x.a_step, x.b,   x.ldb, x.ldc,
               x.alpha, x.beta,  0,        false, true,  is_large(x)};
    for (int64_t j = 0, width; j < x.n; j += width) {
      const int vecs = panel_vecs(x.m, x.n - j);
      width = vecs * kLanes < x.n - j ? vecs * kLanes : x.n - j;
      w.tail = static_cast<int>(width - (vecs - 1) * kLanes);
      rows(w, x.m, vecs, x.a, x.c + j, nullptr);
      w.b += width;
    }
  }

  /// Panels of B are copied to the stack, by k-blocks if they do not fit.
  template <bool kTransposed>
  [[gnu::noinline]] static void packed(const Product& x) {
    alignas(64) T pack[kPackSize];
    alignas(64) T partial[kPartialRows * V::kMaxVecs * kLanes];
    for (int64_t j = 0, width; j < x.n; j += width) {
      const int vecs = panel_vecs(x.m, x.n - j);
      const int64_t stride = vecs * kLanes;
      width = stride < x.n - j ? stride : x.n - j;
      const int tail = static_cast<int>(width - (vecs - 1) * kLanes);
      const int64_t depth = kPackSize / stride;
      const int64_t height = x.k <= depth ? x.m : kPartialRows;
      for (int64_t i = 0; i < x.m; i += height) {
        const int64_t m = height < x.m - i ? height : x.m - i;
        for (int64_t p = 0; p < x.k; p += depth) {
          const int64_t k = depth < x.k - p ? depth : x.k - p;
          if (kTransposed) {
            V::pack_transposed(x.b + j * x.ldb + p, x.ldb, k, width, pack, stride);
          } else {
            pack_rows(x.b + p * x.ldb + j, x.ldb, k, width, pack, stride);
          }
          const Panel w = {k,       x.a_row, x.a_step, pack,  stride,       x.ldc,
                           x.alpha, x.beta,  tail,     p > 0, p + k == x.k, is_large(x)};
          rows(w, m, vecs, x.a + i * x.a_row + p * x.a_step, x.c + i * x.ldc + j, partial);
        }
      }
    }
  }

  static void pack_rows(const T* src, int64_t ld, int64_t k, int64_t n, T* dst, int64_t dst_ld) {
    const int64_t full = n - n % kLanes;
    const auto mask = V::mask(static_cast<int>(n - full));
    for (int64_t p = 0; p < k; ++p, src += ld, dst += dst_ld) {
      for (int64_t j = 0; j < full; j += kLanes) V::store(dst + j, V::load(src + j));
      if (full < n) V::store(dst + full, V::load(src + full, mask));
    }
  }

  static void scale(const GemmArgs<T>& g) {
    if (g.beta == 1) return;
    for (int64_t i = 0; i < g.m; ++i) {
      T* c = g.c + i * g.ldc;
      for (int64_t j = 0; j < g.n; ++j) c[j] = g.beta == 0 ? T(0) : g.beta * c[j];
    }
  }
};

}  // namespace scry
