#include "runtime/eval/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace scry {
namespace {

std::string paper_name(const MethodRow& row) {
  if (row.method == Method::kFilter) return "PF";
  if (row.method == Method::kSmooth) return "PS";
  return row.name;
}

Configuration make(const MethodRow& row, Trigger trigger) {
  Configuration made{row.name, row.summary, row.method, Trigger::kNever};
  if (row.method == Method::kExact) {
    made.summary = "independent draws from p itself, or from its estimate: the floor";
  } else if (row.selects == Selects::kDraws) {
    const bool resamples = trigger != Trigger::kNever;
    made.trigger = trigger;
    made.name = paper_name(row) + (resamples ? ":R" : "");
    made.summary = fmt::format("{}: draws {} the lookahead, {}",
                               row.method == Method::kImportance ? "importance sampling" : row.name,
                               row.looks_ahead() ? "with" : "without",
                               !resamples              ? "never resampled"
                               : row.needs_lookahead() ? "resampled by it if ESS < alpha M"
                                                       : "resampled by scores if ESS < alpha M");
  } else if (has_variants(row.name) && row.needs_lookahead()) {
    made.name += "+lookahead";
  }
  return made;
}

bool equal_words(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char c, unsigned char d) { return std::tolower(c) == std::tolower(d); });
}

}  // namespace

std::vector<Configuration> known_configurations() {
  std::vector<Configuration> all;
  for (const MethodRow& row : method_table()) {
    if (!row.is_offered || !row.finds_ensembles()) continue;
    all.push_back(make(row, Trigger::kNever));
    if (row.selects == Selects::kDraws) all.push_back(make(row, Trigger::kEss));
  }
  // The floor first: what follows is read against it.
  std::stable_partition(all.begin(), all.end(),
                        [](const Configuration& c) { return c.method == Method::kExact; });
  return all;
}

std::optional<Configuration> find_configuration(std::string_view name) {
  for (Configuration& known : known_configurations()) {
    if (equal_words(known.name, name)) return std::move(known);
  }
  for (const MethodRow& row : method_table()) {
    if (row.is_offered && row.finds_ensembles() && equal_words(row.name, name))
      return make(row, row.trigger);
  }
  return std::nullopt;
}

std::vector<Configuration> default_configurations(bool has_lookahead) {
  std::vector<Configuration> chosen = known_configurations();
  std::erase_if(chosen, [&](const Configuration& c) {
    return c.method == Method::kImportance ||
           (!has_lookahead && row_of(c.method).needs_lookahead());
  });
  return chosen;
}

}  // namespace scry
