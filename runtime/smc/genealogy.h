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
  struct Prefix {
    int32_t parent;            ///< its number among those kept of the level before
    int32_t count;             ///< particles, before resampling
    int32_t copies;            ///< particles kept; equal to count without resampling
    double log_weight_change;  ///< of a particle that moved here from its parent
    double share;              ///< of all weight, up to a factor, where it was resampled
  };
  enum class Level : uint8_t {
    kDrawn,      ///< prefixes that particles were drawn to at one step
    kResampled,  ///< and were then resampled at
    kWeighed,    ///< that they were weighed and resampled at before they drew: each its own parent
  };
  /// The prefixes that are added from here on, in the order of their parents, are this level's.
  void begin_level(Level level) { levels_.push_back({level, prefixes_.size()}); }
  void add(const Prefix& prefix) { prefixes_.push_back(prefix); }

  /// `scheme` tells what variance copying adds. Nothing for one particle, or where weights
  /// are too far apart for numbers; may fall below 0.
  std::optional<double> relative_variance(int num_particles, Resampling scheme) const;

 private:
  struct LevelStart {
    Level level;
    size_t first;  // of prefixes_
  };
  std::vector<Prefix> prefixes_;
  std::vector<LevelStart> levels_;
};

}  // namespace scry
