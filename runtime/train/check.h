// Are a program's gradients right? A comparison with finite differences, for users and tests.
#pragma once
#include <string>
#include <vector>

#include "compiler/program.h"

namespace scry {

struct GradientCheckRow {
  std::string differentiator;   ///< the program's
  std::string quantity;         ///< "G_T by θ", "log q by φ", "Ĥ_0 by φ"
  int length = 0;               ///< T
  std::string worst_parameter;  ///< empty if the quantity depends on none
  double worst_error = 0;       ///< relative to the larger of 1 and the derivative
  bool ok = true;
  std::string left_out;  ///< why nothing was compared, in words; else empty
};

/// The largest error that passes.
inline constexpr double kGradientTolerance = 1e-6;

/// Compares the gradients that training takes, over the same forest, with five-point finite
/// differences: at a random x, a tagging of positive probability and fresh parameters, for each
/// parameter tensor along random directions and at single elements. x and y are drawn by the
/// model's own scores until the tagging and its proposal are above -∞; where none is found, rows
/// say what was left out. For a model that stops gradients, `held` is the program whose values are
/// differenced: compiled with CompileOptions::hold_stopped, so that what is stopped does not move.
/// Programs must be in double precision; throws Error if not.
std::vector<GradientCheckRow> check_gradients(const Program& program, int length, uint64_t seed,
                                              const Program* held = nullptr);

}  // namespace scry
