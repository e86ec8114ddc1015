#include "runtime/train/minibatches.h"

#include <algorithm>
#include <numeric>

#include "runtime/kernels/philox.h"

namespace scry {
namespace {

/// The shuffles of one epoch; part of their random numbers' key.
enum class Shuffle : uint32_t { kExamples, kMinibatches };

/// Fisher & Yates.
template <class T>
void shuffle(std::vector<T>& items, uint64_t seed, int epoch, Shuffle which) {
  std::vector<double> draws(items.size());
  fill_uniform(seed, Purpose::kShuffle, static_cast<uint32_t>(epoch), static_cast<uint32_t>(which),
               draws);
  for (size_t i = items.size(); i > 1; --i) {
    const auto j = static_cast<size_t>(draws[i - 1] * static_cast<double>(i));
    std::swap(items[i - 1], items[std::min(j, i - 1)]);
  }
}

}  // namespace

std::vector<std::vector<size_t>> make_minibatches(std::span<const size_t> lengths, int batch,
                                                  uint64_t seed, int epoch) {
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  shuffle(order, seed, epoch, Shuffle::kExamples);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lengths[a] > lengths[b]; });
  const auto size = static_cast<size_t>(batch);
  std::vector<std::vector<size_t>> minibatches;
  for (size_t first = 0; first < order.size(); first += size) {
    const size_t last = std::min(order.size(), first + size);
    minibatches.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(first),
                             order.begin() + static_cast<std::ptrdiff_t>(last));
  }
  shuffle(minibatches, seed, epoch, Shuffle::kMinibatches);
  return minibatches;
}

}  // namespace scry
