// Minimum-risk decoding: the tagging of least expected loss (eq:risk).
#pragma once
#include <cmath>
#include <vector>

#include "runtime/decode/losses.h"
#include "runtime/smc/sample.h"

namespace scry {

/// What an expected loss is worth.
enum class RiskStatus : uint8_t {
  kExact,       ///< it is the expectation under p(y | x), up to rounding
  kEstimate,    ///< under a sample's p̂
  kUnreliable,  ///< likewise, of a sample that shows itself to be a bad one (kUnreliable there), or
                ///< whose taggings hold less than 0.8 of p, as far as log Ẑ can tell: what was not
                ///< found loses nothing there, so that it is mostly too low
  kBeam,  ///< under the shares of a beam, which know nothing of what it dropped
};
/// "exact", "estimate", "unreliable", "beam".
const char* to_string(RiskStatus status);

struct Decision {
  std::vector<int32_t> tags;
  double expected_loss = 0;
  RiskStatus status = RiskStatus::kEstimate;  ///< of expected_loss
  /// Whether no tagging at all has a smaller one under the same distribution; else no candidate.
  bool is_over_all = false;
  size_t num_candidates = 0;  ///< that were compared; 0 where it was made position by position
};

struct DecideOptions {
  size_t max_candidates = 1024;    ///< the heaviest of the ensemble's taggings
  double num_taggings = INFINITY;  ///< that the input allows (count_taggings); ∞: not known
};

/// Decides by one kind of loss.
class Decider {
 public:
  /// Throws as make_loss does.
  Decider(LossKind kind, const Task& task, const Loss& own = {});

  /// By an ensemble's p̂. Hamming loss is minimized over all taggings, by the tag marginals. Of
  /// whole sequences the candidate of the highest G_T is the best under p itself, whatever p̂ is.
  /// Other losses are minimized over candidates, the heaviest taggings of the ensemble. Of equal
  /// risks the heaviest one; of equal marginals the smallest tag. Throws Error if the ensemble has
  /// no mass.
  Decision decide(const Ensemble& ensemble, const DecideOptions& options = {}) const;

  /// Whether decide_exactly serves this loss.
  bool is_decomposable() const;
  /// By p(y | x) itself, over all taggings, by dynamic programming: for Hamming and whole-sequence
  /// loss and models with finite states. Throws Error if it is neither; SamplingError as
  /// finite_posterior (search/posterior.h) does, whose options these are.
  Decision decide_exactly(const Program& program, const Parameters& parameters,
                          const SampleInput& input, const SampleOptions& options = {}) const;

  LossKind kind() const { return kind_; }
  double loss(std::span<const int32_t> decided, std::span<const int32_t> truth) const {
    return loss_(decided, truth);
  }

 private:
  Decision decide_tags(const Ensemble& ensemble) const;
  Decision decide_whole(const Ensemble& ensemble) const;
  Decision decide_candidate(const Ensemble& ensemble, const DecideOptions& options) const;

  LossKind kind_;
  int num_tags_;
  Loss loss_;
};

}  // namespace scry
