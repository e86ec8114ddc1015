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

Configuration make(const MethodRow& row, Trigger trigger = Trigger::kNever,
                   Draws draws = Draws::kIndependent) {
  Configuration made{.name = row.name, .summary = row.summary, .method = row.method};
  if (row.method == Method::kExact) {
    made.summary = "independent draws from p itself, or from its estimate: the floor for particles";
  } else if (row.selects == Selects::kDraws) {
    const bool resamples = trigger != Trigger::kNever, is_spread = draws == Draws::kArithmetic;
    made.trigger = trigger;
    made.draws = draws;
    made.name = paper_name(row) + (resamples ? ":R" : is_spread ? ":A" : "");
    made.summary = fmt::format("{}: draws {} the lookahead, {}",
                               row.method == Method::kImportance ? "importance sampling" : row.name,
                               row.looks_ahead() ? "with" : "without",
                               is_spread               ? "evenly spread (arithmetic)"
                               : !resamples            ? "never resampled"
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
    all.push_back(make(row));
    if (row.selects != Selects::kDraws) continue;
    all.push_back(make(row, Trigger::kEss));
    all.push_back(make(row, Trigger::kNever, Draws::kArithmetic));
  }
  // The floor first: what follows is read against it.
  std::stable_partition(all.begin(), all.end(),
                        [](const Configuration& c) { return c.method == Method::kExact; });
  return all;
}

std::optional<Configuration> find_configuration(std::string_view name) {
  constexpr std::string_view kByScore = "+score";
  if (name.size() > kByScore.size() &&
      equal_words(name.substr(name.size() - kByScore.size()), kByScore)) {
    std::optional<Configuration> found =
        find_configuration(name.substr(0, name.size() - kByScore.size()));
    // Beams are weighted so by themselves.
    if (!found || found->weights == Weights::kScore ||
        row_of(found->method).selects == Selects::kBest)
      return std::nullopt;
    found->weights = Weights::kScore;
    found->name += kByScore;
    found->summary += "; taggings weighted by exp G_T";
    return found;
  }
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
    // Importance sampling without resampling is smoothing, or filtering, again.
    return c.method == Method::kImportance || c.draws == Draws::kArithmetic ||
           (!has_lookahead && row_of(c.method).needs_lookahead());
  });
  return chosen;
}

}  // namespace scry
