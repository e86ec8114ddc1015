#include "runtime/train/objective.h"

namespace scry {

Tally& Tally::operator+=(const Tally& other) {
  num_sequences += other.num_sequences;
  num_symbols += other.num_symbols;
  num_failed += other.num_failed;
  loss += other.loss;
  negative_log_p += other.negative_log_p;
  kl += other.kl;
  divergence += other.divergence;
  ess += other.ess;
  num_rows += other.num_rows;
  num_particle_steps += other.num_particle_steps;
  num_overshot += other.num_overshot;
  overshoot += other.overshoot;
  return *this;
}

}  // namespace scry
