#include "runtime/smc/methods.h"

#include <algorithm>
#include <array>

#include "runtime/smc/beam.h"
#include "runtime/smc/discrete.h"
#include "runtime/smc/particles.h"

namespace scry {
namespace {

template <class P>
std::unique_ptr<Population> make(const SampleOptions& options, const SampleInput& input,
                                 int64_t sequence) {
  return std::make_unique<P>(options, input, sequence);
}

constexpr std::array kTable{
    MethodRow{.method = Method::kImportance,
              .name = "is",
              .summary = "importance sampling: draws with the lookahead, if there is one",
              .proposes = Proposes::kLookahead,
              .weighs = Weighs::kScore,
              .selects = Selects::kDraws,
              .trigger = Trigger::kNever,
              .log_z = LogZ::kEstimate,
              .is_random = true,
              .make = make<Particles>},
    MethodRow{.method = Method::kFilter,
              .name = "filter",
              .summary = "particle filtering: draws and resamples without it",
              .proposes = Proposes::kScore,
              .weighs = Weighs::kScore,
              .selects = Selects::kDraws,
              .trigger = Trigger::kEss,
              .log_z = LogZ::kEstimate,
              .is_random = true,
              .retains = true,
              .make = make<Particles>},
    MethodRow{.method = Method::kSmooth,
              .name = "smooth",
              .summary = "particle smoothing: draws and resamples with the lookahead",
              .proposes = Proposes::kLookahead,
              .weighs = Weighs::kLookahead,
              .selects = Selects::kDraws,
              .trigger = Trigger::kEss,
              .log_z = LogZ::kEstimate,
              .is_random = true,
              .retains = true,
              .make = make<Particles>},
    MethodRow{.method = Method::kDiscrete,
              .name = "discrete",
              .summary = "the discrete particle set: M distinct prefixes, chosen of all children",
              .proposes = Proposes::kEvery,
              .weighs = Weighs::kScore,
              .selects = Selects::kReduces,
              .trigger = Trigger::kNever,
              .log_z = LogZ::kEstimate,
              .is_random = true,
              .held_per_candidate = Discrete::kCandidateBytes,
              .retains = true,
              .make = make<Discrete>},
    MethodRow{.method = Method::kDiscreteAhead,
              .name = "discrete",
              .summary = "the discrete particle set, with the lookahead",
              .proposes = Proposes::kEvery,
              .weighs = Weighs::kLookahead,
              .selects = Selects::kReduces,
              .trigger = Trigger::kNever,
              .log_z = LogZ::kEstimate,
              .is_random = true,
              .held_per_candidate = Discrete::kCandidateBytes,
              .retains = true,
              .make = make<Discrete>},
    MethodRow{.method = Method::kBeam,
              .name = "beam",
              .summary = "the M best prefixes of each length",
              .proposes = Proposes::kEvery,
              .weighs = Weighs::kScore,
              .selects = Selects::kBest,
              .trigger = Trigger::kNever,
              .log_z = LogZ::kLowerBound,
              .held_per_prefix = 2,  // before the worse ones are dropped
              .make = make<Beam>},
    MethodRow{.method = Method::kBeamAhead,
              .name = "beam",
              .summary = "the M best prefixes of each length, with the lookahead",
              .proposes = Proposes::kEvery,
              .weighs = Weighs::kLookahead,
              .selects = Selects::kBest,
              .trigger = Trigger::kNever,
              .log_z = LogZ::kLowerBound,
              .held_per_prefix = 2,
              .make = make<Beam>},
    MethodRow{.method = Method::kEnumerate,
              .name = "enumerate",
              .summary = "every tagging",
              .proposes = Proposes::kEvery,
              .weighs = Weighs::kScore,
              .selects = Selects::kAll,
              .trigger = Trigger::kNever,
              .log_z = LogZ::kExact,
              .is_offered = false,  // exact does it where it can be done
              .make = make<Beam>},
    MethodRow{.method = Method::kExact,
              .name = "exact",
              .summary = "every tagging; where they are too many, exact draws if states are finite",
              .proposes = Proposes::kEvery,
              .weighs = Weighs::kScore,
              .selects = Selects::kAll,
              .trigger = Trigger::kNever,
              .log_z = LogZ::kExact,
              .is_random = true},
    MethodRow{.method = Method::kViterbi,
              .name = "viterbi",
              .summary = "the best tagging, if states are finite",
              .proposes = Proposes::kEvery,
              .weighs = Weighs::kScore,
              .selects = Selects::kBest,
              .trigger = Trigger::kNever,
              .log_z = LogZ::kNothing},
    MethodRow{.method = Method::kAstar,
              .name = "astar",
              .summary = "the best tagging, if the lookahead is exact; else a good one",
              .proposes = Proposes::kEvery,
              .weighs = Weighs::kLookahead,
              .selects = Selects::kBest,
              .trigger = Trigger::kNever,
              .log_z = LogZ::kNothing,
              .keeps_to_memory = false},
};

constexpr bool is_in_order() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<size_t>(kTable[i].method) != i) return false;
  }
  return true;
}
static_assert(is_in_order());

constexpr std::array kSchemeNames{"multinomial", "residual", "stratified", "systematic"};
constexpr std::array kTriggerNames{"", "ess", "always", "never"};
constexpr std::array kResampleAtNames{"before", "after"};
constexpr std::array kDrawsNames{"independent", "arithmetic"};
constexpr std::array kWeightsNames{"sampler", "score"};
constexpr std::array kWeighsNames{"score", "lookahead"};

}  // namespace

std::span<const char* const> scheme_names() { return kSchemeNames; }
std::span<const char* const> trigger_names() { return kTriggerNames; }
std::span<const char* const> resample_at_names() { return kResampleAtNames; }
std::span<const char* const> draws_names() { return kDrawsNames; }
std::span<const char* const> weights_names() { return kWeightsNames; }
std::span<const char* const> weighs_names() { return kWeighsNames; }

std::span<const MethodRow> method_table() { return kTable; }

const MethodRow& row_of(Method method) { return kTable[static_cast<size_t>(method)]; }

const MethodRow* find_method(std::string_view name, std::optional<Weighs> weighs) {
  const auto found = std::find_if(kTable.begin(), kTable.end(), [&](const MethodRow& row) {
    return row.name == name && row.weighs == weighs.value_or(row.weighs);
  });
  return found == kTable.end() ? nullptr : &*found;
}

bool has_variants(std::string_view name) {
  return find_method(name, Weighs::kScore) != nullptr &&
         find_method(name, Weighs::kLookahead) != nullptr;
}

std::vector<std::string> offered_methods() {
  std::vector<std::string> names;
  for (const MethodRow& row : kTable) {
    if (row.is_offered && std::find(names.begin(), names.end(), row.name) == names.end())
      names.emplace_back(row.name);
  }
  return names;
}

Method default_method(bool has_lookahead) {
  return has_lookahead ? Method::kDiscreteAhead : Method::kDiscrete;
}

}  // namespace scry
