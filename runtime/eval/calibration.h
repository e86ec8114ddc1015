// How well a lookahead compares prefixes: C_t against the exact logprob-to-go H_t (eq:H).
#pragma once
#include "runtime/eval/calibration_point.h"
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

/// At most `most` prefixes of a run over one sequence that has them all, with its log_sums: of each
/// t, or of every other one where these are too many, those that the middles of equal parts of
/// p(y_{:t} | x) fall on.
std::vector<CalibrationPoint> calibration_points(const Recording& run, const Batch& batch,
                                                 double temperature, int most);

/// Measures it by enumeration. Bound once to a program and its parameters.
class CalibrationMeter {
 public:
  /// With `keeps_points`, points() can be asked for.
  CalibrationMeter(const Program& program, const Parameters& parameters, bool keeps_points = false)
      : program_(program), parameters_(parameters), recording_(program, false) {
    recording_.keeps_log_sums = keeps_points && program.has_proposal();
  }

  /// Of an input with `num_taggings` taggings of positive probability, among at most
  /// `max_taggings`. Without a lookahead, C is 0. Nothing if it has fewer than two steps (EOS is
  /// one) or something is wrong with the lookahead's numbers. Uses of `options`: temperature,
  /// first_sequence, memory.
  std::optional<Calibration> measure(const SampleInput& input, size_t num_taggings,
                                     int64_t max_taggings, const SampleOptions& options);
  /// Of the input measured last, if it was by all of its prefixes and with a lookahead.
  std::vector<CalibrationPoint> points(int most) const;

 private:
  bool enumerate(const Job& job, SampleOptions options, Method method, int64_t max_taggings);

  const Program& program_;
  const Parameters& parameters_;
  std::optional<Interpreter> interpreter_;
  Recording recording_;
  double temperature_ = 1;
  bool has_points_ = false;  // whether the recording has C_t of every prefix
};

}  // namespace scry
