#include "tools/cli/method_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <functional>
#include <vector>

#include "tools/cli/command.h"

namespace scry::cli {
namespace {

using Serves = bool (*)(const MethodRow&);

bool resamples(const MethodRow& row) { return row.selects == Selects::kDraws; }
bool retains(const MethodRow& row) { return row.retains; }
bool is_variant(const MethodRow& row) { return has_variants(row.name); }
/// Not a beam, whose taggings are the best and no sample.
bool estimates(const MethodRow& row) {
  return row.finds_ensembles() && row.selects != Selects::kBest;
}
bool is_limited(const MethodRow& row) {
  return row.make == nullptr || row.selects == Selects::kAll;
}

/// The methods that an option serves. Options that are not here serve all.
struct OptionUse {
  const char* option;
  Serves serves;
};
constexpr Serves kEnsembles = [](const MethodRow& row) { return row.finds_ensembles(); };
constexpr std::array kUses{
    OptionUse{"--particles", kEnsembles},
    OptionUse{"--resample", resamples},
    OptionUse{"--scheme", resamples},
    OptionUse{"--alpha", resamples},
    OptionUse{"--resample-at", [](const MethodRow& row) { return row.weighs_before_draw(); }},
    OptionUse{"--draws", resamples},
    OptionUse{"--weights", estimates},
    OptionUse{"--marginals", estimates},
    OptionUse{"--rank-by", is_variant},
    OptionUse{"--tolerance", [](const MethodRow& row) { return row.selects == Selects::kReduces; }},
    OptionUse{"--temperature", kEnsembles},
    OptionUse{"--given", retains},
    OptionUse{"--runs", [](const MethodRow& row) { return row.log_z == LogZ::kEstimate; }},
    OptionUse{"--top",
              [](const MethodRow& row) {
                return row.finds_ensembles() || row.method == Method::kViterbi;
              }},
    OptionUse{"--steps", kEnsembles},
    OptionUse{"--max-rows", is_limited},
    OptionUse{"--batch", [](const MethodRow& row) { return row.make != nullptr; }},
    OptionUse{"--memory", [](const MethodRow& row) { return row.keeps_to_memory; }},
};

/// Of the offered methods for which `serves` holds.
std::string names_of(const std::function<bool(const MethodRow&)>& serves) {
  std::vector<std::string> names;
  for (const std::string& name : offered_methods()) {
    if (serves(*find_method(name))) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string value_of(const CLI::App& app, const char* option) {
  const CLI::Option* found = app.get_option_no_throw(option);
  return found == nullptr || found->count() == 0 ? "" : found->results().back();
}

/// Both were given (the second one with a value that leaves the first without use).
void refuse(const char* option, const std::string& beside, const std::string& why) {
  throw UsageError(fmt::format("{} has no use with {}: {}", option, beside, why));
}

}  // namespace

std::string method_help() {
  std::string help = fmt::format("How; {} unless given:", row_of(default_method(true)).name);
  for (const std::string& name : offered_methods())
    help += fmt::format("\n{:8} {}", name, find_method(name)->summary);
  return help;
}

std::string resample_help() {
  const std::string never = names_of(
      [](const MethodRow& row) { return resamples(row) && row.trigger == Trigger::kNever; });
  return fmt::format("When: if ESS < alpha M (never for {}), at every step, or not at all", never);
}

std::string max_rows_help() {
  return fmt::format("Limit of {}: rows in memory", names_of(is_limited));
}

std::string rank_by_help() {
  return fmt::format("What {} compare prefixes by: G_t, or G_t + C_t; that if there is a lookahead",
                     names_of(is_variant));
}

const MethodRow& chosen_method(const std::string& name, const std::string& rank_by,
                               bool has_lookahead) {
  const std::string chosen = name.empty() ? row_of(default_method(has_lookahead)).name : name;
  if (!has_variants(chosen)) return *find_method(chosen);
  if (rank_by.empty())
    return *find_method(chosen, has_lookahead ? Weighs::kLookahead : Weighs::kScore);
  return *find_method(chosen, named<Weighs>(weighs_names(), rank_by));
}

void check_method_options(const CLI::App& app, const std::string& method) {
  const auto given = [&](const char* option) {  // a command need not have them all
    const CLI::Option* found = app.get_option_no_throw(option);
    return found != nullptr && found->count() > 0;
  };
  const MethodRow& row = chosen_method(method, weighs_names()[0], true);
  for (const OptionUse& use : kUses) {
    if (!given(use.option) || use.serves(row)) continue;
    const std::string beside =
        method.empty() ? fmt::format("{}, the method unless --method says another", row.name)
                       : "--method " + method;
    refuse(use.option, beside, fmt::format("it is for {}", names_of(use.serves)));
  }
  // Seeds are of draws, and of fresh parameters.
  if (given("--seed") && given("--params") && !row.is_random)
    refuse("--seed", "--method " + method, "nothing is drawn, and the parameters are given");
  const std::string resample = value_of(app, "--resample");
  const bool arithmetic = value_of(app, "--draws") == "arithmetic";
  if (arithmetic && !resample.empty() && resample != "never")
    refuse("--draws", "--resample " + resample, "arithmetic draws cannot be resampled");
  const bool never =
      resample == "never" || arithmetic || (resample.empty() && row.trigger == Trigger::kNever);
  for (const char* option : {"--scheme", "--alpha", "--resample-at"}) {
    if (!given(option) || !never) continue;
    if (!resample.empty()) refuse(option, "--resample never", "nothing is resampled");
    if (arithmetic) refuse(option, "--draws arithmetic", "nothing is resampled");
    refuse(option, "--method " + method, "it does not resample unless --resample says so");
  }
  if (given("--alpha") && resample == "always")
    refuse("--alpha", "--resample always", "it is for --resample ess");
  if (row.method == Method::kViterbi && given("--top") && value_of(app, "--top") == "0")
    throw UsageError("--top 0: viterbi needs to know how many taggings to find");
  if (given("--top") && given("--marginals") && value_of(app, "--format") != "jsonl")
    refuse("--top", "--marginals", "a table has either taggings or marginals");
  if (given("--given")) {
    for (const char* option : {"--scheme", "--resample-at", "--draws", "--weights"}) {
      if (given(option)) refuse(option, "--given", "what retains a tagging draws in its own way");
    }
    if (given("--runs"))
      refuse("--runs", "--given", "chains are not pooled; give a line several times");
    if (given("--constrain")) refuse("--constrain", "--given", "the tags are those to retain");
  }
  if (given("--steps") && value_of(app, "--format") != "jsonl")
    refuse("--steps", "a table", "use --format jsonl");
  if (given("--steps") && given("--runs") && value_of(app, "--runs") != "1")
    refuse("--steps", "--runs", "pooled runs have no steps in common");
}

}  // namespace scry::cli
