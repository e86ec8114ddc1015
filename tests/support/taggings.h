// Small inputs and all their taggings.
#pragma once
#include <vector>

#include "dsl/task.h"
#include "runtime/kernels/philox.h"

namespace scry::test {

inline std::vector<int> random_symbols(int size, int length, uint64_t seed) {
  Random random(seed, static_cast<uint32_t>(length));
  std::vector<int> symbols;
  for (int t = 0; t < length; ++t)
    symbols.push_back(static_cast<int>(random.word() % static_cast<uint32_t>(size)));
  return symbols;
}
/// Of all symbols but EOS, which users do not write.
inline std::vector<int> random_symbols(const Alphabet& alphabet, int length, uint64_t seed) {
  const int end = alphabet.eos().value_or(alphabet.size());
  std::vector<int> symbols =
      random_symbols(alphabet.size() - (alphabet.eos() ? 1 : 0), length, seed);
  for (int& symbol : symbols) symbol += symbol >= end ? 1 : 0;
  return symbols;
}
inline std::vector<int> random_input(const Task& task, int length, uint64_t seed) {
  return random_symbols(task.x, length, seed);
}
inline std::vector<int> random_tagging(const Task& task, int length, uint64_t seed) {
  return random_symbols(task.y, length, seed + 1000);
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
/// All taggings, as users write them: without EOS.
inline std::vector<std::vector<int>> all_taggings(const Task& task, int length) {
  const int end = task.y.eos().value_or(task.y.size());
  std::vector<std::vector<int>> all = all_taggings(task.y.size() - (task.y.eos() ? 1 : 0), length);
  for (std::vector<int>& y : all) {
    for (int& tag : y) tag += tag >= end ? 1 : 0;
  }
  return all;
}

}  // namespace scry::test
