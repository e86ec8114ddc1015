// A distribution over all taggings, without a model.
#pragma once
#include "runtime/kernels/philox.h"
#include "tests/support/hand_ensemble.h"
#include "tests/support/taggings.h"

namespace scry::test {

/// All taggings with normal scores of this spread, as an enumeration leaves them.
inline Ensemble random_posterior(int num_tags, int length, uint64_t seed, double spread = 2) {
  Random random(seed, static_cast<uint32_t>(length), static_cast<uint32_t>(num_tags));
  std::vector<HandSequence> sequences;
  for (const std::vector<int>& y : all_taggings(num_tags, length)) {
    const double score = spread * random.normal();
    sequences.push_back({{y.begin(), y.end()}, score, 1, score});
  }
  Ensemble all = hand_ensemble(sequences, length);
  all.info.method = "enumerate";
  all.certainty = Certainty::kExact;
  all.log_z_error = 0.0;
  all.sort();
  return all;
}

}  // namespace scry::test
