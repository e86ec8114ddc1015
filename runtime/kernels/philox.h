// Counter-based random numbers (Salmon et al. 2011, Philox4x32-10): a pure function of key and
// counter, so that a draw does not depend on who draws before it.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>

namespace scry {

/// Four random words for this key and counter.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                         std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0], b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

/// In (0, 1), evenly spaced, of the first 52 bits: with more, the largest would round to 1.
constexpr double unit_interval(uint32_t high, uint32_t low) {
  const uint64_t bits = (uint64_t{high} << 20) ^ (low >> 12);
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

/// A seed for the n-th of several independent undertakings; the 0th is `seed` itself.
constexpr uint64_t derive_seed(uint64_t seed, uint32_t n) {
  if (n == 0) return seed;
  const auto block = philox({n, 0, 0, UINT32_MAX},
                            {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return (uint64_t{block[0]} << 32) | block[1];
}

/// What random numbers are drawn for; part of their key. 0 is left to Random.
enum class Purpose : uint32_t {
  kPropose = 1,
  kResample = 2,
  kExactDraw = 3,
  kShuffle = 4,
  kRetain = 5,
  kSweep = 6
};

/// Fills `out` with numbers in (0, 1). The m-th is a pure function of the other arguments and m.
void fill_uniform(uint64_t seed, Purpose purpose, uint32_t sequence, uint32_t step,
                  std::span<double> out);

/// A stream of numbers named by a seed and up to two more integers.
class Random {
 public:
  constexpr Random(uint64_t seed, uint32_t stream, uint32_t substream = 0)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        counter_{0, 0, stream, substream} {}

  constexpr uint32_t word() {
    if (used_ == 4) {
      block_ = philox(counter_, key_);
      if (++counter_[0] == 0) ++counter_[1];
      used_ = 0;
    }
    return block_[static_cast<size_t>(used_++)];
  }
  /// In (0, 1).
  constexpr double uniform() {
    const uint32_t high = word();
    return unit_interval(high, word());
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

}  // namespace scry
