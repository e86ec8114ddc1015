// Examples drawn from the HMM of hand_hmm.h.
#pragma once
#include <vector>

#include "runtime/files/examples_file.h"
#include "runtime/kernels/parameters.h"
#include "runtime/kernels/philox.h"
#include "tests/support/hand_hmm.h"

namespace scry::test {

/// Tags alternate after a first that is drawn, and the symbol is the tag's number or 2, with noise:
/// the last symbol tells the tag for sure.
inline std::vector<Example> hmm_examples(int count, uint32_t stream) {
  Random random(17, stream);
  std::vector<Example> examples;
  for (int i = 0; i < count; ++i) {
    Example& example = examples.emplace_back();
    const int length = 1 + i % 6;
    int tag = random.uniform() < 0.5 ? 0 : 1;
    for (int t = 0; t < length; ++t) {
      const bool is_clear = t + 1 == length || random.uniform() < 0.3;
      example.x.push_back(is_clear ? tag : 2);
      example.y.push_back(tag);
      tag = random.uniform() < 0.9 ? 1 - tag : tag;
    }
  }
  return examples;
}

}  // namespace scry::test
