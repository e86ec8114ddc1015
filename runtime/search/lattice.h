// All taggings of a sequence as paths through the distinct states of a model with finite states.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "runtime/kernels/stepper.h"
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
  int64_t first_state = 0;         ///< of its rows, which are consecutive, among the builder's

  /// Distinct states before the step that some prefix of positive mass reaches.
  int64_t num_rows() const { return static_cast<int64_t>(first_arc.size()) - 1; }
  std::span<const Arc> arcs_from(int64_t row) const {
    const auto i = static_cast<size_t>(row);
    return std::span(arcs).subspan(static_cast<size_t>(first_arc[i]),
                                   static_cast<size_t>(first_arc[i + 1] - first_arc[i]));
  }
  /// Null where the tag has the score -∞, or is not allowed.
  const Arc* find(int64_t row, int32_t tag) const;
};

/// Paths from row 0 of the first step to the final node are the allowed taggings of positive mass,
/// one each. There is at least one, but not every row need lie on one.
struct Lattice {
  std::vector<LatticeStep> steps;  ///< T of them
  int64_t num_rows() const;        ///< of all steps
  int64_t num_arcs() const;
};

/// What lattices may take.
struct LatticeLimits {
  int64_t max_rows = int64_t{1} << 17;  ///< of one sequence, in all steps
  int64_t memory = 0;  ///< bytes, with what is computed from them; 0: default_memory()
};

/// Throws Error if equal states of the program cannot be told: not all of them are integers.
void check_finite_states(const Program& program);

/// Makes the lattices of a batch's sequences together, step by step. Bound once to a program with
/// finite states and its parameters; keeps kernels and memory from batch to batch.
class LatticeBuilder {
 public:
  LatticeBuilder(const Program& program, const Parameters& parameters);
  LatticeBuilder(LatticeBuilder&&) noexcept;
  ~LatticeBuilder();

  /// One lattice a sequence. `allowed` has an entry for each, or is empty: all tags are; so has
  /// `numbers`, by which errors name sequences. Throws SamplingError: kNotANumber, kNoMass,
  /// kTooManyRows or kTooMuchMemory.
  std::vector<Lattice> build(const Batch& batch, std::span<const TagSets* const> allowed,
                             std::span<const int64_t> numbers, const LatticeLimits& limits);

  /// Of all rows of the last lattices: those of the first step first, and in the order of sequences
  /// within a step; and the positions at which they are extended.
  const StateRows& states() const;
  std::span<const int32_t> positions() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Of a checked input (check_input.h). Throws as LatticeBuilder::build does.
Lattice build_lattice(const Program& program, const Parameters& parameters,
                      const SampleInput& input, int64_t sequence, const LatticeLimits& limits);

}  // namespace scry
