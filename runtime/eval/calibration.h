// How well a lookahead compares prefixes: C_t against the exact logprob-to-go H_t (eq:H).
#pragma once
#include "runtime/smc/interpreter.h"

namespace scry {

/// Within (x, t), over posterior prefixes: what all prefixes of one length share does not matter to
/// resampling and selection.
struct Calibration {
  double variance = 0;  ///< of C_t − H_t, nats²; +∞ if a possible prefix has C_t = −∞
  double blind_variance = 0;  ///< of −H_t: what C = 0 has
};

/// Mean over 0 < t < T of the variance over y_{:t} ~ p(· | x). At t = 0 there is one prefix, and at
/// t = T both are 0. `forest` is of one sequence and has every prefix of positive probability.
/// Scores and lookaheads are divided by the temperature; H_t is of exp(G / τ). Not for T < 2.
Calibration calibration_of(const Forest& forest, double temperature);

/// Measures it by enumeration. Bound once to a program and its parameters.
class CalibrationMeter {
 public:
  CalibrationMeter(const Program& program, const Parameters& parameters)
      : program_(program), parameters_(parameters), recording_(program, false) {}

  /// Of an input with `num_taggings` taggings of positive probability, among at most
  /// `max_taggings`. Without a lookahead, C is 0. Nothing if it has fewer than two steps (EOS is
  /// one) or something is wrong with the lookahead's numbers. Uses of `options`: temperature,
  /// first_sequence, memory.
  std::optional<Calibration> measure(const SampleInput& input, size_t num_taggings,
                                     int64_t max_taggings, const SampleOptions& options);

 private:
  bool enumerate(const Job& job, SampleOptions options, Method method, int64_t max_taggings);

  const Program& program_;
  const Parameters& parameters_;
  std::optional<Interpreter> interpreter_;
  Recording recording_;
};

}  // namespace scry
