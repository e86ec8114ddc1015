// The order in which training goes through its examples.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace scry {

/// How many minibatches an epoch has.
inline int64_t count_minibatches(size_t num_examples, int batch) {
  const auto size = static_cast<size_t>(batch);
  return static_cast<int64_t>((num_examples + size - 1) / size);
}

/// The examples of an epoch in minibatches of like length: a pure function of the lengths, the
/// seed and the epoch. Equally long examples are shuffled, then cut into minibatches of `batch`
/// neighbours (the last may be smaller), whose order is shuffled. Within one, the longest come
/// first.
std::vector<std::vector<size_t>> make_minibatches(std::span<const size_t> lengths, int batch,
                                                  uint64_t seed, int epoch);

}  // namespace scry
