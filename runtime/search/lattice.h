// All taggings of a sequence as paths through the distinct states of a model with finite states.
#pragma once
#include <span>
#include <vector>

#include "runtime/smc/sample.h"

namespace scry {

/// What one tag does in one state.
struct Arc {
  int32_t tag;
  int32_t to;    ///< the row of the next step; 0, the one final node, after the last
  double score;  ///< g(s_{t-1}, x_t, y_t), above -∞
};

struct LatticeStep {
  std::vector<Arc> arcs;           ///< in the order of rows, then of tags
  std::vector<int64_t> first_arc;  ///< [num_rows + 1]

  /// Distinct states before the step that some prefix of positive mass reaches.
  int64_t num_rows() const { return static_cast<int64_t>(first_arc.size()) - 1; }
  std::span<const Arc> arcs_from(int64_t row) const {
    const auto i = static_cast<size_t>(row);
    return std::span(arcs).subspan(static_cast<size_t>(first_arc[i]),
                                   static_cast<size_t>(first_arc[i + 1] - first_arc[i]));
  }
};

/// Paths from row 0 of the first step to the final node are the allowed taggings of positive mass,
/// one each. There is at least one, but not every row need lie on one.
struct Lattice {
  std::vector<LatticeStep> steps;  ///< T of them
  int64_t num_rows() const;        ///< of all steps
};

/// Throws Error if equal states of the program cannot be told: not all of them are integers.
void check_finite_states(const Program& program);

/// Of a checked input (check_input.h) and a program with finite states. Throws SamplingError:
/// kNotANumber, kNoMass, kTooManyRows if there are more than `max_rows` in all, or kTooMuchMemory
/// if it and what is computed from it would take more than `memory` bytes (0: default_memory()).
Lattice build_lattice(const Program& program, const Parameters& parameters,
                      const SampleInput& input, int64_t sequence, int64_t max_rows, int64_t memory);

}  // namespace scry
