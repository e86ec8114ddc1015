// How well log Z is known where a tagging is given: two estimates that err to different sides.
#pragma once
#include <optional>

#include "runtime/smc/interpreter.h"
#include "runtime/train/objective.h"

namespace scry {

/// log Ẑ of one sequence by discrete sets: without its tagging y* (Ẑ is unbiased, so that log Ẑ is
/// low in the mean), and of one that retains it (high in the mean if y* is a draw of p(y | x), and
/// never below G(y*)). No estimate that looks at y* alone can tell that it is right: a model with
/// its mass elsewhere has both too low. But then they differ, or move as M grows.
struct LogZBracket {
  double low = 0, high = 0;              ///< at 4M
  double small_low = 0, small_high = 0;  ///< at M
  double middle() const { return (low + high) / 2; }
  /// How far apart they are.
  double gap() const { return high - low; }
  /// How far the middle moved.
  double drift() const { return middle() - (small_low + small_high) / 2; }
};

/// Bound to a program and parameters, with scratch memory: one per thread.
class LogZBrackets {
 public:
  LogZBrackets(const Program& program, const Parameters& parameters, int particles);

  /// To work in, about.
  void set_memory(int64_t bytes) { options_.memory = bytes; }
  /// Throws TrainingError if a score is NaN or +∞. The examples are in the order of falling length.
  void run(std::span<const TrainExample> examples, uint64_t seed);
  const Batch& batch() const { return interpreter_.batch(); }
  /// Nothing if the sequence has no tagging of positive weight that was found, or its own has none.
  const std::optional<LogZBracket>& of(size_t sequence) const { return brackets_[sequence]; }

 private:
  std::vector<std::optional<double>> estimate(std::span<const TrainExample> examples, uint64_t seed,
                                              int particles, bool retains);

  SampleOptions options_;
  int particles_;
  Interpreter interpreter_;
  std::vector<std::optional<LogZBracket>> brackets_;
};

}  // namespace scry
