// Every way to answer for an input, as rows of one table. What else is known of a method (its name
// in JSON and for the command, its help, which options serve it, its population, its memory) is
// made from its row.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scry {

class Population;
struct SampleOptions;
struct SampleInput;

enum class Method : uint8_t {
  kImportance,     ///< proposes by g + C (by g without a lookahead), weighs prefixes by G_t
  kFilter,         ///< proposes by g, weighs prefixes by G_t: C = 0
  kSmooth,         ///< proposes by g + C, weighs prefixes by G_t + C_t (eq:q-local, eq:sis)
  kDiscrete,       ///< reduces all children to M by G_t, without bias (Fearnhead & Clifford 2003)
  kDiscreteAhead,  ///< reduces all children to M by G_t + C_t
  kBeam,           ///< keeps the M best prefixes by G_t
  kBeamAhead,      ///< keeps the M best prefixes by G_t + C_t
  kEnumerate,      ///< keeps every prefix
  kExact,          ///< exact.h: enumeration, or exact draws; not for SampleOptions
  kViterbi,        ///< search.h; not for SampleOptions
  kAstar,          ///< search.h; not for SampleOptions
};

enum class Resampling : uint8_t { kMultinomial, kResidual, kStratified, kSystematic };
/// "multinomial", "residual", "stratified", "systematic": by Resampling.
std::span<const char* const> scheme_names();

/// Whether tags are drawn before or after resampling. Where the same numbers propose and weigh
/// (filter, smooth), w_t does not depend on y_t: resampling first (the fully adapted filter of Pitt
/// & Shephard 1999) gives the copies of a prefix tags of their own.
enum class ResampleAt : uint8_t {
  kBefore,  ///< before the draw of y_t where w_t does not depend on it; else after
  kAfter,   ///< after the draw, as in the paper
};
/// "before", "after": by ResampleAt.
std::span<const char* const> resample_at_names();

/// How the numbers come about that tags are drawn with.
enum class Draws : uint8_t {
  kIndependent,
  kArithmetic,  ///< (m + U) / M for particle m, through the tree of cumulated q; never resampled
};
/// "independent", "arithmetic": by Draws.
std::span<const char* const> draws_names();

/// What the taggings of an ensemble are weighted by.
enum class Weights : uint8_t {
  kSampler,  ///< as the method found them: expectations are consistent
  kScore,    ///< by exp(G_T / temperature): the nearest to p on the same taggings (weigh_by_score)
};
/// "sampler", "score": by Weights.
std::span<const char* const> weights_names();

enum class Trigger : uint8_t {
  kAuto,    ///< as the method's row says
  kEss,     ///< when ESS < αM
  kAlways,  ///< at every step but the last
  kNever,
};
/// "", "ess", "always", "never": by Trigger.
std::span<const char* const> trigger_names();

/// What the next tag of a prefix comes from.
enum class Proposes : uint8_t {
  kScore,      ///< a draw by g
  kLookahead,  ///< a draw by g + C (eq:q-local); by g, where the program has no lookahead
  kEvery,      ///< every tag is tried
};
/// What prefixes of one length are compared by.
enum class Weighs : uint8_t {
  kScore,      ///< G_t
  kLookahead,  ///< G_t + C_t: the program must have a lookahead
};
/// "score", "lookahead": by Weighs.
std::span<const char* const> weighs_names();
/// What is kept of the prefixes of a step.
enum class Selects : uint8_t {
  kDraws,    ///< what was drawn, M of them, resampled by Trigger
  kReduces,  ///< M of all children, at random but without bias
  kBest,     ///< the heaviest, M or one of them
  kAll,
};
/// What a method says of log Z.
enum class LogZ : uint8_t { kEstimate, kLowerBound, kExact, kNothing };

struct MethodRow {
  Method method;
  const char* name;     ///< in JSON and for the command; rows of one name differ in what weighs
  const char* summary;  ///< for help
  Proposes proposes;
  Weighs weighs;
  Selects selects;
  Trigger trigger;  ///< what kAuto is
  LogZ log_z;
  bool is_random = false;         ///< whether the seed decides what is found
  bool is_offered = true;         ///< whether the command has it as a --method
  bool keeps_to_memory = true;    ///< whether it minds a bound on memory
  double held_per_prefix = 1;     ///< candidates that the population holds for each that it keeps
  double held_per_candidate = 0;  ///< bytes that it holds for each that it sees
  bool retains = false;           ///< whether it can retain a given tagging
  /// For the input with this number. Null: no population of the interpreter does it.
  std::unique_ptr<Population> (*make)(const SampleOptions&, const SampleInput&,
                                      int64_t sequence) = nullptr;

  /// Whether it uses C and s̄ (eq:c) where there are any.
  constexpr bool looks_ahead() const {
    return proposes == Proposes::kLookahead || needs_lookahead();
  }
  /// Whether it can do nothing without them.
  constexpr bool needs_lookahead() const { return weighs == Weighs::kLookahead; }
  /// Whether it proposes by what weighs, so that w_t does not depend on y_t (eq:sis).
  constexpr bool weighs_before_draw() const {
    return selects == Selects::kDraws &&
           (proposes == Proposes::kLookahead) == (weighs == Weighs::kLookahead);
  }
  /// Whether it finds weighted taggings; else one tagging, the best.
  constexpr bool finds_ensembles() const { return log_z != LogZ::kNothing; }
};

/// All of them, by Method.
std::span<const MethodRow> method_table();
const MethodRow& row_of(Method method);
/// The first of this name, or the first that weighs so, too. Null if there is none.
const MethodRow* find_method(std::string_view name, std::optional<Weighs> weighs = std::nullopt);
/// Whether there is one of this name for each Weighs.
bool has_variants(std::string_view name);
/// The names of those that are offered, each once, in the order of the table.
std::vector<std::string> offered_methods();
/// What samples where nothing else is asked for: docs/samplers.md tells why.
Method default_method(bool has_lookahead);

}  // namespace scry
