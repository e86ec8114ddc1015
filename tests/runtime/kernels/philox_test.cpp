#include "runtime/kernels/philox.h"

#include <set>
#include <vector>

#include "tests/catch.h"

using namespace scry;

namespace {

using Words = std::array<uint32_t, 4>;
constexpr uint32_t kOnes = 0xffffffff;

// The known answers of Salmon et al.'s Random123, philox4x32 with 10 rounds.
static_assert(philox({0, 0, 0, 0}, {0, 0}) ==
              Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
              Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

/// The k-th moment about 0 of n draws.
template <class Draw>
double moment(int k, int n, Draw draw) {
  double total = 0;
  for (int i = 0; i < n; ++i) total += std::pow(draw(), k);
  return total / n;
}

}  // namespace

TEST_CASE("Philox gives its known answers") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
}

TEST_CASE("a stream's words are Philox's at its seed, stream and counter") {
  Random random(0x0000000200000001, 7, 9);
  for (const uint32_t counter : {0u, 1u, 2u}) {
    for (const uint32_t word : philox({counter, 0, 7, 9}, {1, 2})) CHECK(random.word() == word);
  }
}

TEST_CASE("numbers made many at a time are those of the blocks one by one") {
  // However many there are, as some are made by eight blocks and the rest by one.
  for (size_t size : {0, 1, 2, 15, 16, 17, 31, 32, 47, 128, 1003}) {
    for (uint64_t seed : {uint64_t{0}, uint64_t{0x243f6a8885a308d3}, UINT64_MAX}) {
      std::vector<double> numbers(size + 1, -1.0);
      fill_uniform(seed, Purpose::kPropose, 0xfedcba98, kOnes, std::span(numbers).first(size));
      size_t num_right = 0;
      for (size_t m = 0; m < size; ++m) {
        const Words block =
            philox({static_cast<uint32_t>(m / 2), 1, 0xfedcba98, kOnes},
                   {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
        num_right += numbers[m] == (m % 2 == 0 ? unit_interval(block[0], block[1])
                                               : unit_interval(block[2], block[3]));
      }
      CHECK(num_right == size);
      CHECK(numbers.back() == -1);  // nothing is written behind them
    }
  }
}

TEST_CASE("a stream is the same every time, and unlike every other") {
  const auto first = [](uint64_t seed, uint32_t stream, uint32_t substream) {
    return Random(seed, stream, substream).word();
  };
  CHECK(first(1, 2, 3) == first(1, 2, 3));
  std::set<uint32_t> words;
  for (uint32_t k = 0; k < 8; ++k) {
    words.insert({first(k, 100, 100), first(uint64_t{k} << 32, 101, 100), first(200, k, 100),
                  first(200, 100, k)});
  }
  CHECK(words.size() == 32);
}

TEST_CASE("a uniform number is never 0 or 1") {
  CHECK(unit_interval(0, 0) > 0);
  CHECK(unit_interval(0, 0) == 0x1p-53);
  CHECK(unit_interval(kOnes, kOnes) < 1);
  CHECK(unit_interval(kOnes, kOnes) == 1 - 0x1p-53);
  CHECK(unit_interval(1u << 31, 0) == Approx(0.5));
}

TEST_CASE("uniform numbers have the moments of the uniform distribution") {
  constexpr int kDraws = 200000;
  for (int k : {1, 2, 3, 4}) {
    Random random(17, static_cast<uint32_t>(k));
    // The standard deviation of u^k is below 0.31: five of its errors.
    CHECK(std::abs(moment(k, kDraws, [&] { return random.uniform(); }) - 1.0 / (k + 1)) <
          5 * 0.31 / std::sqrt(kDraws));
  }
  // Each of 64 parts holds its share.
  Random random(18, 0);
  std::array<int, 64> counts{};
  for (int i = 0; i < 64000; ++i) ++counts[static_cast<size_t>(random.uniform() * 64)];
  double chi_squared = 0;
  for (int count : counts) chi_squared += (count - 1000.0) * (count - 1000.0) / 1000;
  CHECK(chi_squared > 30);  // 63 ± 11.2
  CHECK(chi_squared < 110);
}

TEST_CASE("normal numbers have the moments of the normal distribution") {
  constexpr int kDraws = 200000;
  const double expected[]{0, 1, 0, 3}, deviation[]{1, 1.42, 3.88, 9.8};
  for (int k : {1, 2, 3, 4}) {
    Random random(19, static_cast<uint32_t>(k));
    const double error = 5 * deviation[k - 1] / std::sqrt(kDraws);
    CHECK(std::abs(moment(k, kDraws, [&] { return random.normal(); }) - expected[k - 1]) < error);
  }
}

TEST_CASE("uniform numbers depend on every part of their key, and not on how many are asked for") {
  const auto draw = [](uint64_t seed, scry::Purpose purpose, uint32_t sequence, uint32_t step,
                       size_t count) {
    std::vector<double> numbers(count);
    scry::fill_uniform(seed, purpose, sequence, step, numbers);
    return numbers;
  };
  const std::vector<double> seven = draw(1, scry::Purpose::kPropose, 2, 3, 7);
  const std::vector<double> four = draw(1, scry::Purpose::kPropose, 2, 3, 4);
  CHECK(std::equal(four.begin(), four.end(), seven.begin()));
  for (size_t m = 1; m < seven.size(); ++m) CHECK(seven[m] != seven[m - 1]);
  CHECK(draw(2, scry::Purpose::kPropose, 2, 3, 4) != four);
  CHECK(draw(uint64_t{1} << 32 | 1, scry::Purpose::kPropose, 2, 3, 4) != four);
  CHECK(draw(1, scry::Purpose::kResample, 2, 3, 4) != four);
  CHECK(draw(1, scry::Purpose::kPropose, 3, 3, 4) != four);
  CHECK(draw(1, scry::Purpose::kPropose, 2, 4, 4) != four);
}

TEST_CASE("derived seeds differ from each other and from their seed, which is the first") {
  CHECK(scry::derive_seed(5, 0) == 5);
  CHECK(scry::derive_seed(5, 1) != 5);
  CHECK(scry::derive_seed(5, 1) != scry::derive_seed(5, 2));
  CHECK(scry::derive_seed(5, 1) != scry::derive_seed(6, 1));
}
