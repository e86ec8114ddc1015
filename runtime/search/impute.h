// Multiple imputation: complete versions of incomplete taggings.
#pragma once
#include <optional>
#include <vector>

#include "runtime/smc/sample.h"

namespace scry {

struct ImputeOptions {
  int versions = 5;     ///< m
  int particles = 128;  ///< M of the discrete sets, where nothing exact can be had
  uint64_t seed = 1;
  int threads = 0;     ///< 0: all cores; the result does not depend on it
  int64_t memory = 0;  ///< bytes to work in, about, likewise; 0: a quarter of the machine's
};

/// What became of one input.
struct Imputed {
  /// m taggings, each a draw from p(y | x, O): O are those that the input allows. All weigh the
  /// same, so that estimates made of each are pooled as they are (Rubin's rules).
  std::vector<std::vector<int32_t>> versions;
  /// Independent draws from p itself: over finite states, or of at most 4096 taggings. Else each is
  /// drawn from p̂ of a discrete set of its own (discrete.h), which is p as M grows.
  bool is_exact = true;
  std::optional<SamplingError> error;
};

/// The v-th version depends on the seed, the input's number and v alone. Throws Error if the
/// options make no sense.
std::vector<Imputed> impute(const Program& program, const Parameters& parameters,
                            std::span<const SampleInput> inputs, const ImputeOptions& options = {});

}  // namespace scry
