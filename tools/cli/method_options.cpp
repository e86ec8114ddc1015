#include "tools/cli/method_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>

#include "tools/cli/command.h"

namespace scry::cli {
namespace {

enum : unsigned {
  kIs = 1,
  kFilter = 2,
  kSmooth = 4,
  kBeam = 8,
  kExact = 16,
  kViterbi = 32,
  kAstar = 64,
  kSamplers = kIs | kFilter | kSmooth,
  kSeveral = kSamplers | kBeam | kExact,  // taggings, with weights
  kSearches = kViterbi | kAstar,
};

struct MethodName {
  const char* name;
  unsigned bit;
};
constexpr std::array kMethods{
    MethodName{"is", kIs},       MethodName{"filter", kFilter}, MethodName{"smooth", kSmooth},
    MethodName{"beam", kBeam},   MethodName{"exact", kExact},   MethodName{"viterbi", kViterbi},
    MethodName{"astar", kAstar},
};

/// The methods that an option serves; and perhaps another option, beside which it has a use
/// whatever the method, or without which it has none. Options that are not here serve all.
struct OptionUse {
  const char* option;
  unsigned methods;
  const char* also_with = nullptr;
};
constexpr std::array kUses{
    OptionUse{"--particles", kSeveral},
    OptionUse{"--resample", kSamplers},
    OptionUse{"--scheme", kSamplers},
    OptionUse{"--alpha", kSamplers},
    OptionUse{"--beam-by", kBeam},
    OptionUse{"--temperature", kSeveral},
    OptionUse{"--runs", kSamplers},
    OptionUse{"--top", kSeveral},
    OptionUse{"--steps", kSeveral},
    OptionUse{"--kl", kSeveral},
    OptionUse{"--max-rows", kExact | kSearches, "--kl"},
    OptionUse{"--batch", kSamplers | kBeam},
    OptionUse{"--memory", kSeveral | kViterbi},
};

std::string names_of(unsigned methods) {
  std::string names;
  for (const MethodName& method : kMethods) {
    if ((methods & method.bit) != 0)
      names += (names.empty() ? "" : ", ") + std::string(method.name);
  }
  return names;
}

std::string value_of(const CLI::App& app, const char* option) {
  const auto& results = app.get_option(option)->results();
  return results.empty() ? "" : results.back();
}

/// Both were given (the second one with a value that leaves the first without use).
void refuse(const char* option, const std::string& beside, const std::string& why) {
  throw UsageError(fmt::format("{} has no use with {}: {}", option, beside, why));
}

}  // namespace

void check_method_options(const CLI::App& app, const std::string& method) {
  const auto given = [&](const char* option) { return app.get_option(option)->count() > 0; };
  const std::string used = method.empty() ? "smooth" : method;
  unsigned bit = 0;
  for (const MethodName& known : kMethods) bit |= used == known.name ? known.bit : 0u;
  for (const OptionUse& use : kUses) {
    if (!given(use.option) || (use.methods & bit) != 0) continue;
    if (use.also_with != nullptr && given(use.also_with)) continue;
    const std::string beside = method.empty() ? "sampling" : "--method " + method;
    refuse(use.option, beside,
           fmt::format("it is for {}{}", names_of(use.methods),
                       use.also_with == nullptr ? "" : fmt::format(" and {}", use.also_with)));
  }
  // Seeds are of draws, and of fresh parameters.
  if (given("--seed") && given("--params") && (bit & (kSamplers | kExact)) == 0 && !given("--kl"))
    refuse("--seed", "--method " + method, "nothing is drawn, and the parameters are given");
  const std::string resample = value_of(app, "--resample");
  const bool never = resample == "never" || (resample.empty() && used == "is");
  for (const char* option : {"--scheme", "--alpha"}) {
    if (given(option) && never)
      refuse(option, resample.empty() ? "--method is" : "--resample never",
             resample.empty() ? "it does not resample unless --resample says so"
                              : "nothing is resampled");
  }
  if (given("--alpha") && resample == "always")
    refuse("--alpha", "--resample always", "it is for --resample ess");
  if (given("--steps") && value_of(app, "--format") != "jsonl")
    refuse("--steps", "a table", "use --format jsonl");
  if (given("--steps") && given("--runs") && value_of(app, "--runs") != "1")
    refuse("--steps", "--runs", "pooled runs have no steps in common");
}

}  // namespace scry::cli
