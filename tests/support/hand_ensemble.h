// Ensembles given sequence by sequence.
#pragma once
#include <vector>

#include "runtime/smc/ensemble.h"

namespace scry::test {

struct HandSequence {
  std::vector<int32_t> tags;
  double log_weight = 0;
  int32_t count = 1;
  double log_score = 0;
};

/// `particles` is M, of one run; 0 for a weighted set, without counts. The rest of the info is as
/// by default. Not sorted.
inline Ensemble hand_ensemble(const std::vector<HandSequence>& sequences, int length,
                              int particles = 0) {
  Ensemble ensemble;
  ensemble.info.particles = particles;
  ensemble.length = length;
  for (const HandSequence& sequence : sequences) {
    ensemble.tags.insert(ensemble.tags.end(), sequence.tags.begin(), sequence.tags.end());
    ensemble.log_weights.push_back(sequence.log_weight);
    ensemble.log_scores.push_back(sequence.log_score);
    if (particles > 0) ensemble.counts.push_back(sequence.count);
  }
  ensemble.log_z = log_sum_exp(ensemble.log_weights);
  return ensemble;
}

}  // namespace scry::test
