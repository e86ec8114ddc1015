// An ensemble of one model, weighted for another.
#pragma once
#include <cmath>
#include <span>

#include "runtime/smc/ensemble.h"

namespace scry {

enum class Combine : uint8_t {
  kReplace,  ///< p ∝ exp(G' / τ): weights times exp((G' − G) / τ)
  kProduct,  ///< p ∝ exp((G + α G') / τ): weights times exp(α G' / τ)
};
/// "replace", "product": by Combine.
std::span<const char* const> combine_names();

struct RescoreOptions {
  Combine combine = Combine::kReplace;
  double alpha = 1;                ///< of kProduct; above 0
  double num_taggings = INFINITY;  ///< of the input, without constraints; ∞: not known
};

struct Rescored {
  /// The same taggings with the new weights, and the new G for their scores.
  Ensemble ensemble;
  /// (Σ w r)² / (Σ w · Σ w r²) for the ratios r of new and old weights: the share of the old sample
  /// that the new weights leave; 1 where all ratios are equal.
  double overlap = 0;
};

/// `log_scores[i]` is G' of sequence i; -∞ is a score. What log Z is worth then: the sum of the new
/// weights is importance sampling's estimate, without bias if the old one was and if the old model
/// forbids nothing that the new one allows. Where draws were independent it has their error bar;
/// else none (kUnknown), and below an overlap of ½ it is kUnreliable. A beam's stays a lower bound,
/// as its weights are exp(G / τ) of distinct taggings, whatever G is. All of p stays exact in a
/// product, and by replacing if it has all `num_taggings`; else that is a lower bound, too. Throws
/// Error if no tagging has mass then.
Rescored rescore(const Ensemble& ensemble, std::span<const double> log_scores,
                 const RescoreOptions& options = {});

}  // namespace scry
