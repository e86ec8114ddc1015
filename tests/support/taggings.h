// Small inputs and all their taggings.
#pragma once
#include <vector>

#include "dsl/task.h"
#include "runtime/philox.h"

namespace scry::test {

inline std::vector<int> random_symbols(int size, int length, uint64_t seed) {
  Random random(seed, static_cast<uint32_t>(length));
  std::vector<int> symbols;
  for (int t = 0; t < length; ++t)
    symbols.push_back(static_cast<int>(random.word() % static_cast<uint32_t>(size)));
  return symbols;
}
inline std::vector<int> random_input(const Task& task, int length, uint64_t seed) {
  return random_symbols(task.x.size(), length, seed);
}
inline std::vector<int> random_tagging(const Task& task, int length, uint64_t seed) {
  return random_symbols(task.y.size(), length, seed + 1000);
}

/// All |Y|^T taggings.
inline std::vector<std::vector<int>> all_taggings(int num_tags, int length) {
  std::vector<std::vector<int>> all{{}};
  for (int t = 0; t < length; ++t) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& y : all) {
      for (int tag = 0; tag < num_tags; ++tag) {
        longer.push_back(y);
        longer.back().push_back(tag);
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace scry::test
