#include "runtime/decode/decide.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>

#include "runtime/search/posterior.h"
#include "runtime/search/search.h"

namespace scry {
namespace {

/// Σ_t (1 − p(y_t = z_t)) is least where each term is.
void add_best_tag(std::span<const double> marginals, Decision& decision) {
  const auto best = std::ranges::max_element(marginals);
  decision.tags.push_back(static_cast<int32_t>(best - marginals.begin()));
  decision.expected_loss += std::max(0.0, 1 - *best);
}

constexpr double kLeastShare = 0.8;
constexpr int kLeastDraws = 16;

/// The log of how much of p its taggings hold, as far as log Ẑ can tell. Particles that share their
/// ancestors, and sets that dropped prefixes, may be far from p though their weights are equal.
double log_share_found(const Ensemble& ensemble) {
  std::vector<double> log_shares;
  for (size_t i = 0; i < ensemble.size(); ++i)
    log_shares.push_back(ensemble.model_log_probability(i));
  return log_sum_exp(log_shares);
}

RiskStatus status_of(const Ensemble& ensemble) {
  if (ensemble.is_whole_posterior()) return RiskStatus::kExact;
  switch (ensemble.certainty) {
    case Certainty::kLowerBound:
      return RiskStatus::kBeam;
    case Certainty::kUnreliable:
      return RiskStatus::kUnreliable;
    case Certainty::kExact:  // independent draws, which may each be rare
      return ensemble.info.particles < kLeastDraws ? RiskStatus::kUnreliable
                                                   : RiskStatus::kEstimate;
    default:
      return log_share_found(ensemble) < std::log(kLeastShare) ? RiskStatus::kUnreliable
                                                               : RiskStatus::kEstimate;
  }
}

}  // namespace

const char* to_string(RiskStatus status) {
  constexpr std::array kNames{"exact", "estimate", "unreliable", "beam"};
  return kNames[static_cast<size_t>(status)];
}

Decider::Decider(LossKind kind, const Task& task, const Loss& own)
    : kind_(kind), num_tags_(task.y.size()), loss_(make_loss(kind, task, own)) {}

bool Decider::is_decomposable() const {
  return kind_ == LossKind::kHamming || kind_ == LossKind::kWhole;
}

Decision Decider::decide(const Ensemble& ensemble, const DecideOptions& options) const {
  if (ensemble.size() == 0 || log_sum_exp(ensemble.log_weights) == -INFINITY)
    throw Error("there is no tagging of positive weight to decide for");
  Decision decision = kind_ == LossKind::kHamming ? decide_tags(ensemble)
                      : kind_ == LossKind::kWhole ? decide_whole(ensemble)
                                                  : decide_candidate(ensemble, options);
  decision.status = status_of(ensemble);
  return decision;
}

/// Of all tags at a time, T · |Y| numbers would be many.
Decision Decider::decide_tags(const Ensemble& ensemble) const {
  Decision decision;
  decision.is_over_all = true;
  std::vector<double> probabilities, shares(static_cast<size_t>(num_tags_));
  for (size_t i = 0; i < ensemble.size(); ++i) probabilities.push_back(ensemble.probability(i));
  for (size_t t = 0; t < static_cast<size_t>(ensemble.length); ++t) {
    std::fill(shares.begin(), shares.end(), 0.0);
    for (size_t i = 0; i < ensemble.size(); ++i)
      shares.at(static_cast<size_t>(ensemble.sequence(i)[t])) += probabilities[i];
    add_best_tag(shares, decision);
  }
  return decision;
}

Decision Decider::decide_whole(const Ensemble& ensemble) const {
  size_t best = 0;  // of equal scores the heaviest, as it stands first
  for (size_t i = 1; i < ensemble.size(); ++i)
    if (ensemble.log_scores[i] > ensemble.log_scores[best]) best = i;
  const std::span<const int32_t> tags = ensemble.sequence(best);
  Decision decision;
  decision.tags.assign(tags.begin(), tags.end());
  decision.expected_loss = std::max(0.0, 1 - ensemble.probability(best));
  decision.is_over_all = ensemble.is_whole_posterior();
  decision.num_candidates = ensemble.size();
  return decision;
}

Decision Decider::decide_candidate(const Ensemble& ensemble, const DecideOptions& options) const {
  const std::vector<size_t> order = ensemble.top(ensemble.size());
  std::vector<double> shares;
  for (size_t i : order) {
    if (ensemble.probability(i) > 0) shares.push_back(ensemble.probability(i));
  }
  const size_t num_candidates =
      std::clamp<size_t>(options.max_candidates, 1, std::max<size_t>(shares.size(), 1));
  size_t best = 0;
  double least = INFINITY;
  for (size_t candidate = 0; candidate < num_candidates; ++candidate) {
    const std::span<const int32_t> tags = ensemble.sequence(order[candidate]);
    double risk = 0;  // losses are at least 0: no candidate need be looked at to the end
    for (size_t i = 0; i < shares.size() && risk < least; ++i)
      risk += shares[i] * loss_(tags, ensemble.sequence(order[i]));
    if (!(risk < least)) continue;
    least = risk;
    best = candidate;
  }
  const std::span<const int32_t> tags = ensemble.sequence(order[best]);
  Decision decision;
  decision.tags.assign(tags.begin(), tags.end());
  decision.expected_loss = least;
  decision.num_candidates = num_candidates;
  decision.is_over_all =
      ensemble.is_whole_posterior() && static_cast<double>(num_candidates) >= options.num_taggings;
  return decision;
}

Decision Decider::decide_exactly(const Program& program, const Parameters& parameters,
                                 const SampleInput& input, const SampleOptions& options) const {
  if (!is_decomposable()) {
    throw Error(fmt::format("the loss '{}' has no exact minimizer by dynamic programming",
                            loss_names()[static_cast<size_t>(kind_)]));
  }
  const auto posterior = finite_posterior(program, parameters, input, options);
  Decision decision;
  if (kind_ == LossKind::kHamming) {
    const RealMatrix<double> marginals = posterior->tag_marginals();
    for (Eigen::Index t = 0; t < marginals.rows(); ++t)
      add_best_tag({marginals.row(t).data(), static_cast<size_t>(marginals.cols())}, decision);
  } else {
    Best best = viterbi(program, parameters, input,
                        {options.first_sequence, options.max_rows, options.memory});
    decision.tags = std::move(best.tags);
    decision.expected_loss = std::max(
        0.0, -std::expm1(std::min(0.0, best.log_score / options.temperature - posterior->log_z())));
  }
  decision.is_over_all = true;
  decision.status = RiskStatus::kExact;
  return decision;
}

}  // namespace scry
