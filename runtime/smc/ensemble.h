// What sampling leaves: weighted sequences (eq:phat), an estimate of Z, and how it came about.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "dsl/task.h"
#include "runtime/kernels/eigen_types.h"
#include "runtime/kernels/philox.h"

namespace scry {

/// One step of a run.
struct StepRecord {
  double ess = 0;  ///< effective sample size, before any resampling; NaN where nothing is weighted
  bool resampled = false;
  int64_t num_rows = 0;            ///< distinct prefixes that were really extended
  std::vector<int32_t> ancestors;  ///< of each particle, where it resampled; else particle m's is m
};

/// How an ensemble was made.
struct RunInfo {
  std::string method;  ///< "is", "filter", "smooth", "discrete", "beam", "enumerate", "exact", …
  std::string resampling = {};  ///< such as "systematic, before the draw, if ESS < 0.5 M"; empty
                                ///< where nothing resamples
  int particles = 0;            ///< M; 0 if nothing was drawn (beam, enumeration)
  int runs = 1;                 ///< how many independent runs were pooled
  double temperature = 1;
  uint64_t seed = 0;
  int64_t sequence = 0;    ///< its number, from 0
  int beam_width = 0;      ///< 0 if it is no beam
  std::string draws = {};  ///< "independent" or "arithmetic"; empty where no tags are drawn
  std::optional<double> tolerance = {};  ///< of a discrete set
  std::string weights = "sampler";  ///< "sampler" or "score": what the taggings are weighted by
};

/// What is known of an ensemble's log_z.
enum class Certainty : uint8_t {
  kExact,       ///< it is log Z, up to rounding
  kEstimate,    ///< ±1.96 log_z_error hold log Z in about 95 % of runs
  kUnreliable,  ///< an estimate, but the sample shows that its error bar cannot be trusted
  kNoSpread,    ///< an estimate from equal weights: they tell nothing of what was never drawn
  kUnknown,     ///< an estimate without an error bar: of one particle, a discrete set, …
  kLowerBound,  ///< at most log Z: of a beam
};
/// "exact", "estimate", "unreliable", "no spread", "unknown", "lower bound".
const char* to_string(Certainty certainty);

/// What f makes of a tagging.
template <class F>
using ValueOf = std::decay_t<std::invoke_result_t<const F&, std::span<const int32_t>>>;

/// A distribution p̂ over distinct sequences, heaviest first; ties in the order of tags. It is its
/// weights. Where it came about by particles, their counts tell how many stand behind each; a
/// weighted set (a discrete one, a beam, an enumeration) has none.
struct Ensemble {
  RunInfo info;
  int length = 0;                   ///< T
  std::vector<int32_t> tags;        ///< [size()][T]
  std::vector<double> log_weights;  ///< merged over equal particles; log Σ exp = log_z
  std::vector<double> log_scores;   ///< G_T
  std::vector<int32_t> counts;      ///< particles on each sequence; empty for a weighted set
  double log_z = 0;                 ///< log Ẑ; of exp(G_T / temperature)
  Certainty certainty = Certainty::kUnknown;  ///< what log_z and log_z_error are worth
  /// Standard error of log_z: of one run, from its genealogy (genealogy.h); of pooled runs, from
  /// their scatter; both widened by Student's t for small samples, so that 1.96 of it make a 95 %
  /// bar. 0 where log_z is exact; nothing where it cannot be told (M = 1, a beam). Read it with
  /// `certainty`: where that is kNoSpread it is 0 or rounding, and no bound of anything.
  std::optional<double> log_z_error;
  std::string caution;  ///< why it is kUnreliable, kNoSpread or kUnknown, in words; else empty
  /// What exact draws by dynamic programming come with: of p(y | x) itself, not of the draws.
  struct Known {
    double entropy = 0;                 ///< in nats
    std::vector<double> tag_marginals;  ///< p(y_t = tag | x), [T][|Y|]; empty if not read back
  };
  std::optional<Known> known;
  /// T of them, and one more if EOS ends the sequence (fn:eos), which `tags` are without; none of
  /// pooled runs.
  std::vector<StepRecord> steps;

  size_t size() const { return log_weights.size(); }
  bool has_counts() const { return !counts.empty(); }
  /// Particles on sequence i; 1 in a weighted set.
  int32_t count(size_t i) const { return has_counts() ? counts[i] : 1; }
  std::span<const int32_t> sequence(size_t i) const {
    return std::span(tags).subspan(i * static_cast<size_t>(length), static_cast<size_t>(length));
  }
  /// p̂ of sequence i (eq:phat): its share of the ensemble's weight, of exact draws the share of
  /// draws; 0 where log_z is -∞.
  double probability(size_t i) const;
  double log_probability(size_t i) const;
  /// log p(y | x) = G_T / temperature − log Z under the model, where log_z is exact; else with
  /// log_z for log Z: an estimate, or of a beam an upper bound.
  double model_log_probability(size_t i) const;
  /// log w of each particle on sequence i; with the exact proposal, log Z. Of pooled runs, the log
  /// of the mean over the sequence's particles. In a weighted set, the sequence's own.
  double particle_log_weight(size_t i) const;
  /// (Σ w)² / Σ w² over the particles of the final ensemble, or over its sequences if it is a
  /// weighted set; 0 if it has no mass.
  double ess() const;
  /// Whether it is all of p(y | x): every tagging that has mass, with its probability. Draws know
  /// log Z, too, and so may a sample weighted by score, but they are not that.
  bool is_whole_posterior() const;
  /// Prefixes really extended, of all recorded steps.
  int64_t num_rows() const;

  /// E_p̂[f(y)]; f sees only sequences of positive probability.
  double expectation(const std::function<double(std::span<const int32_t> tags)>& f) const;
  /// Likewise of vectors or matrices of one size, such as Eigen::VectorXd. Throws Error if the
  /// ensemble has no mass, as the size is not known then.
  template <class F, class Value = ValueOf<F>,
            class = std::enable_if_t<!std::is_arithmetic_v<Value>>>
  Value expectation(const F& f) const {
    std::optional<Value> total;
    for (size_t i = 0; i < size(); ++i) {
      const double p = probability(i);
      if (!(p > 0)) continue;
      if (total) {
        *total += p * f(sequence(i));
      } else {
        total.emplace(p * f(sequence(i)));
      }
    }
    if (!total) throw Error("expectation: the ensemble has no sequence of positive weight");
    return *std::move(total);
  }
  /// p̂(y_t = tag), [T, num_tags]; include <Eigen/Core> to use it. Throws Error if a tag is not
  /// below num_tags.
  RealMatrix<double> tag_marginals(int num_tags) const;
  /// p(y_t = tag | x) itself, or p̂: that of tag_marginals() where it is not `known`.
  RealMatrix<double> best_tag_marginals(int num_tags) const;
  /// Whether best_tag_marginals() are those of p: all taggings are there, or they are `known`.
  bool has_exact_marginals() const;
  /// Of p(y | x), in nats, where it is known exactly. -Σ p̂ log p̂ of a sample would be too low: it
  /// is at most log M.
  std::optional<double> entropy() const;
  /// The indices of the k heaviest sequences, or of all if there are fewer.
  std::vector<size_t> top(size_t k) const;
  /// The index of a sequence drawn from p̂. Throws Error if the ensemble has no mass.
  size_t draw(Random& random) const;

  /// Restores the order of sequences after filling by hand; equal sequences must have been merged,
  /// and there must be a count for each or for none.
  void sort();
};

/// Weights each sequence by exp(G_T / temperature), which is the nearest p̂ to p under KL that has
/// the same sequences. It is a weighted set then; log_z and what it is worth stay as they are. Good
/// where few sequences have nearly all mass; elsewhere it favours the best of them, as a beam does.
void weigh_by_score(Ensemble& ensemble);

/// log Σ exp of log weights; -∞ for none.
double log_sum_exp(std::span<const double> values);

/// One ensemble of R independent runs on the same input, of particles or weighted sets: Ẑ and the
/// weight of each sequence are the means of theirs, and the standard error comes from their
/// scatter, with R − 1 degrees of freedom (nothing for R = 1 beyond the run's own). Lower bounds
/// stay one, and exact ones exact. The rest of the info is the first run's. Runs that failed by
/// Trouble::kNoMass count as Ẑ = 0: pass how many they are as `num_empty`. Throws Error if there
/// are no other runs, if lengths, temperatures or numbers of particles differ, if only some have
/// counts, or if lower bounds are among estimates.
Ensemble pool_runs(std::span<const Ensemble> runs, int num_empty = 0);

/// The whole run as one JSON object, in one line: what was asked, log Ẑ and what it is worth, every
/// sequence with its names, weight and score (the `max_sequences` heaviest), every step (no key
/// "steps" without `with_steps`), and tag marginals with `with_marginals`. The keys are the same
/// for every method, and docs/output.md tells each; infinities and unknowns are null.
std::string to_json(const Ensemble& ensemble, const Task& task, size_t max_sequences = SIZE_MAX,
                    bool with_steps = true, bool with_marginals = false);

/// The ensemble of such an object, to the bit, in whatever order its sequences stand. What follows
/// from the rest (probabilities, ess, rows) is not read, nor are keys that to_json does not write.
/// Throws Error in one line if it is no such object, if it is a search's (its taggings have no
/// weights), or if not all sequences are there.
Ensemble ensemble_from_json(std::string_view json, const Task& task);

}  // namespace scry
