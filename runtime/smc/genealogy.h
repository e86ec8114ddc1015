// The error of an estimate of Z, from one run: who went where, with which weight.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/smc/sample.h"

namespace scry {

/// The family tree of one sequence's particles, kept by prefixes.
///
/// The relative variance of Ẑ is, as in Chan & Lai (2013) and Lee & Whiteley (2018), one minus the
/// ratio of two estimates of Z²: from pairs of particles that were drawn independently, and from
/// all pairs. They know each particle's first ancestor, and pay for it with noise: which particle a
/// copy was made of is chance. Here particles of one prefix are alike, so the tree of prefixes
/// tells more: the expected weight to come after a prefix is estimated from all that was drawn
/// there, with the numbers of particles before resampling. A prefix that resampling dropped is
/// taken for an average one, so that where the ancestry has collapsed the estimate looks only a few
/// steps back (as the fixed-lag estimate of Olsson & Douc 2019 does).
class Genealogy {
 public:
  /// Prefixes that particles were drawn to at one step; or that they were weighed and resampled at
  /// before they drew, which is a level of its own, where each prefix is its own parent. Columns of
  /// equal length, in the order of parents.
  struct Level {
    std::vector<int32_t> parents;            ///< index into the level before, of those kept there
    std::vector<int32_t> counts;             ///< particles, before resampling
    std::vector<int32_t> copies;             ///< particles kept; equal to counts without resampling
    std::vector<double> log_weight_changes;  ///< of a particle that moved here from its parent
    std::vector<double> shares;              ///< of all weight, where it was resampled; else empty
    bool is_drawn = true;                    ///< false: all of a prefix's particles stayed on it
    bool resampled() const { return !shares.empty(); }
  };
  void add(Level level) { levels_.push_back(std::move(level)); }

  /// `scheme` tells what variance copying adds. Nothing for one particle, or where weights
  /// are too far apart for numbers; may fall below 0.
  std::optional<double> relative_variance(int num_particles, Resampling scheme) const;

 private:
  std::vector<Level> levels_;
};

}  // namespace scry
