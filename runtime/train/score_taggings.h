// Given taggings under a model: their scores, and the probabilities that the proposal gives them.
#pragma once
#include <span>
#include <vector>

#include "runtime/train/given_taggings.h"

namespace scry {

struct TaggingScore {
  double log_score = 0;     ///< G_T (eq:G)
  double log_proposal = 0;  ///< log q(y | x) (eq:q); 0 without a proposal
  double to_go = 0;         ///< Ĥ_0 (eq:Hhat); 0 without a proposal
};

/// Scores given taggings by the forest that training differentiates. Bound once to a program and
/// parameters, and called many times.
class TaggingScorer {
 public:
  TaggingScorer(const Program& program, const Parameters& parameters);

  /// Where the task has an EOS, its step is a part of all scores. Throws Error if the lengths
  /// differ, a symbol is out of range, or EOS stands before the end.
  TaggingScore score(std::span<const int> x, std::span<const int> y);

  /// Of the last tagging, which must not have been empty: its batch, and its forest with the cells
  /// of all tags.
  const Batch& batch() const { return batch_; }
  const Recording& recording() const { return *recording_; }

 private:
  double log_proposal() const;

  const Program& program_;
  BatchEncoder encoder_;
  GivenTaggings taggings_;
  Batch batch_;
  std::vector<int> x_, y_;
  const Recording* recording_ = nullptr;
};

}  // namespace scry
