// θ by the conditional likelihood of given taggings.
#pragma once
#include <span>

#include "runtime/train/objective.h"

namespace scry {

/// What the given tagging y* is set against in the gradient of log p(y* | x): all ways are
/// ∇G(y*) - Σ_k W_k ∇G(y_k), and differ in the taggings y_k and their weights.
///
/// Where y* is among them, they are kernels that leave p(y | x) invariant if started from y*: where
/// the model has reached the data's distribution the expected gradient is 0, for every M and every
/// proposal. Without it, the model can move mass to where the sampler does not look.
enum class Contrast : uint8_t {
  kAuto,       ///< kRanking if the program has a proposal, else kDiscrete
  kRanking,    ///< y* and M draws of q, never resampled, by exp G / q
  kDiscrete,   ///< a discrete set that retains y*, of at least 32
  kSmc,        ///< conditional SMC that retains y*, with ancestor sampling
  kSample,     ///< smoothing or filtering without y*
  kEnumerate,  ///< every tagging, by p itself: for short sequences and few tags
};

struct ContrastRow {
  Contrast contrast;
  const char* name;     ///< for the command
  const char* summary;  ///< for help
  bool retains;         ///< whether y* is among them
  int least_particles;  ///< fewer are raised to so many; 0: there are none
};
/// All of them, by Contrast.
std::span<const ContrastRow> contrast_table();
const ContrastRow& row_of(Contrast contrast);
inline const char* name_of(Contrast contrast) { return row_of(contrast).name; }

struct ConditionalOptions {
  Contrast contrast = Contrast::kAuto;
  int particles = 32;  ///< M
};
/// With what kAuto means for the program, and as many particles as that takes at least.
ConditionalOptions settle(ConditionalOptions options, const Program& program);

/// log p(y | x) of a globally normalized model, with its gradient as `options` say.
///
/// It is measured, for a development set, by two estimates of log Z, each at M and 4M (M of at
/// least 32): a discrete set's, which is low in the mean, and one's that retains y*, which is high
/// in the mean if y* is a draw of p. The middle of those at 4M is taken; Tally::is_reliable says
/// whether the four are near enough for that.
std::unique_ptr<Objective> make_conditional_likelihood(const ConditionalOptions& options);

}  // namespace scry
