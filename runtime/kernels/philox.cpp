#include "runtime/kernels/philox.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace scry {
namespace {

using Key = std::array<uint32_t, 2>;

/// The numbers of one block and those after it, as many as there is room for.
void fill_one_by_one(std::array<uint32_t, 4> counter, Key key, std::span<double> out) {
  for (size_t m = 0; m < out.size(); m += 2, ++counter[0]) {
    const auto block = philox(counter, key);
    out[m] = unit_interval(block[0], block[1]);
    if (m + 1 < out.size()) out[m + 1] = unit_interval(block[2], block[3]);
  }
}

#ifdef __x86_64__
constexpr size_t kNumbersAtOnce = 16;  // of eight blocks

/// unit_interval of the lower halves of four pairs. An integer below 2⁵² is the fraction of a
/// number that is 2⁵² more.
[[gnu::target("avx2")]] inline __m256d unit_intervals(__m256i high, __m256i low) {
  const __m256i exponent = _mm256_set1_epi64x(0x4330000000000000);
  const __m256i lower = _mm256_set1_epi64x(0xffffffff);
  const __m256i bits = _mm256_xor_si256(_mm256_slli_epi64(_mm256_and_si256(high, lower), 20),
                                        _mm256_srli_epi64(_mm256_and_si256(low, lower), 12));
  const __m256d number =
      _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(bits, exponent)), _mm256_set1_pd(0x1p52));
  return _mm256_mul_pd(_mm256_add_pd(number, _mm256_set1_pd(0.5)), _mm256_set1_pd(0x1p-52));
}

/// As fill_one_by_one, of eight blocks at a time, each word in the lower half of a lane of 64 bits
/// (what the upper halves hold is never read). Returns how many numbers it made: all that make up
/// eights of blocks.
[[gnu::target("avx2")]] size_t fill_by_eights(std::array<uint32_t, 4> counter, Key key,
                                              std::span<double> out) {
  const __m256i a = _mm256_set1_epi64x(0xD2511F53), b = _mm256_set1_epi64x(0xCD9E8D57);
  size_t done = 0;
  for (; done + kNumbersAtOnce <= out.size(); done += kNumbersAtOnce) {
    __m256i words[2][4];
    for (int half = 0; half < 2; ++half) {
      const auto first = static_cast<int64_t>(counter[0] + done / 2) + 4 * half;
      words[half][0] = _mm256_set_epi64x(first + 3, first + 2, first + 1, first);
      for (int k = 1; k < 4; ++k) words[half][k] = _mm256_set1_epi64x(counter[k]);
    }
    Key k = key;
    for (int round = 0; round < 10; ++round) {
      const __m256i key0 = _mm256_set1_epi64x(k[0]), key1 = _mm256_set1_epi64x(k[1]);
      for (auto& w : words) {
        const __m256i pa = _mm256_mul_epu32(a, w[0]), pb = _mm256_mul_epu32(b, w[2]);
        w[0] = _mm256_xor_si256(_mm256_srli_epi64(pb, 32), _mm256_xor_si256(w[1], key0));
        w[2] = _mm256_xor_si256(_mm256_srli_epi64(pa, 32), _mm256_xor_si256(w[3], key1));
        w[1] = pb;
        w[3] = pa;
      }
      k = {k[0] + 0x9E3779B9, k[1] + 0xBB67AE85};
    }
    for (int half = 0; half < 2; ++half) {
      const __m256d even = unit_intervals(words[half][0], words[half][1]);
      const __m256d odd = unit_intervals(words[half][2], words[half][3]);
      const __m256d front = _mm256_unpacklo_pd(even, odd), back = _mm256_unpackhi_pd(even, odd);
      double* to = out.data() + done + 8 * half;
      _mm256_storeu_pd(to, _mm256_permute2f128_pd(front, back, 0x20));
      _mm256_storeu_pd(to + 4, _mm256_permute2f128_pd(front, back, 0x31));
    }
  }
  return done;
}
#endif

}  // namespace

void fill_uniform(uint64_t seed, Purpose purpose, uint32_t sequence, uint32_t step,
                  std::span<double> out) {
  const Key key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  std::array<uint32_t, 4> counter{0, static_cast<uint32_t>(purpose), sequence, step};
#ifdef __x86_64__
  if (out.size() >= kNumbersAtOnce && __builtin_cpu_supports("avx2")) {
    const size_t done = fill_by_eights(counter, key, out);
    counter[0] = static_cast<uint32_t>(done / 2);
    out = out.subspan(done);
  }
#endif
  fill_one_by_one(counter, key, out);
}

}  // namespace scry
