// Ensembles given sequence by sequence.
#pragma once
#include <cmath>
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

/// Weights 6, 3, 1, 0 of 10 on four sequences of two tags, multiplied by exp(shift): 4, 1, 2 and 1
/// of 8 particles.
inline Ensemble four(double shift = 0) {
  return hand_ensemble({{{0, 1}, std::log(6) + shift, 4, -1},
                        {{1, 1}, std::log(3) + shift, 1, -2},
                        {{0, 0}, std::log(1) + shift, 2, -3},
                        {{1, 0}, -INFINITY, 1, -4}},
                       2, 8);
}

/// No mass, by having no sequences or by weights of 0.
inline std::vector<Ensemble> ensembles_without_mass() {
  Ensemble fresh;  // whose log_z is not -∞
  fresh.length = 2;
  fresh.info.particles = 8;
  return {fresh, hand_ensemble({}, 2, 8),
          hand_ensemble({{{0, 1}, -INFINITY, 4}, {{1, 1}, -INFINITY, 4}}, 2, 8)};
}

}  // namespace scry::test
