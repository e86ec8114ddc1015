#include "tools/cli/sample_report.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>
#include <sstream>

namespace scry::cli {
namespace {

constexpr size_t kMaxSymbols = 24;  // of a sequence in a table

/// "12.346 ±0.012"; of an error too small for three digits, its size.
std::string format_log_z(const Ensemble& ensemble) {
  const std::string log_z = fmt::format("{:.3f}", ensemble.log_z);
  const double error = ensemble.log_z_error.value_or(NAN);
  const std::string bar = std::isnan(error) ? " ±?"
                          : error < 0.0005  ? fmt::format(" ±{:.0e}", error)
                                            : fmt::format(" ±{:.3f}", error);
  switch (ensemble.certainty) {
    case Certainty::kExact:
      return log_z + " exact";
    case Certainty::kLowerBound:
      return "≥" + log_z;
    case Certainty::kUnreliable:
      return log_z + bar + " unreliable";
    case Certainty::kNoSpread:
    case Certainty::kUnknown:
      return log_z + " ±?";
    case Certainty::kEstimate:
      break;
  }
  return log_z + bar;
}

/// Three decimals, or digits and a power of ten, which may be below what a double holds.
std::string format_exp(double log_p) {
  if (log_p > std::log(0.0005)) return fmt::format("{:.3f}", std::exp(log_p));
  const double power = std::floor(log_p / std::numbers::ln10);
  return fmt::format("{:.1f}e{:.0f}", std::exp(log_p - power * std::numbers::ln10), power);
}

/// p(y | x) where it is known, else its estimate; of a beam an upper bound.
std::string format_probability(const Ensemble& ensemble, size_t i) {
  if (ensemble.certainty == Certainty::kExact) return format_exp(ensemble.model_log_probability(i));
  const bool bound = ensemble.certainty == Certainty::kLowerBound;
  return fmt::format("{}{:.3f}", bound ? "≤" : "", ensemble.probability(i));
}

}  // namespace

std::string join_tags(std::span<const int32_t> tags, const Alphabet& alphabet) {
  std::string text;
  for (size_t t = 0; t < std::min(tags.size(), kMaxSymbols); ++t)
    text += (t == 0 ? "" : " ") + alphabet.name(tags[t]);
  return tags.size() > kMaxSymbols ? text + " …" : text;
}
std::string cut_symbols(const std::string& symbols) {
  size_t spaces = 0;
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i] == ' ' && ++spaces == kMaxSymbols) return symbols.substr(0, i) + " …";
  }
  return symbols;
}

Json words_json(const std::string& text) {
  Json words = Json::array();
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string result_json(const SampleResult& result, const Task& task, const std::string& method,
                        const char* parameters, size_t top, bool with_steps, bool with_marginals) {
  Json json{{"line", result.line->line},
            {"x", words_json(result.line->symbols)},
            {"error", result.error.empty() ? Json() : Json(result.error)},
            {"parameters", parameters}};
  if (result.state) json["state"] = names_of(*result.state, task.y);
  std::string text = dump(json);
  std::string record;
  if (!result.best.empty()) record = to_json(result.best, task, method, result.sequence);
  if (result.ensemble) record = to_json(*result.ensemble, task, top, with_steps, with_marginals);
  if (!record.empty()) {  // both are objects
    text.back() = ',';
    text += record.substr(1);
  }
  return text + "\n";
}

std::string result_table(const std::vector<SampleResult>& results, const Task& task, size_t top,
                         const Style& style, TextTable::Layout& layout) {
  const bool bounds = std::any_of(results.begin(), results.end(), [](const SampleResult& result) {
    return result.ensemble && result.ensemble->certainty == Certainty::kLowerBound;
  });
  TextTable table({{"line", true},
                   {"x"},
                   {bounds ? "log Z at least" : "log Z", true},
                   {"ESS", true},
                   {"p", true},
                   {"G_T", true},
                   {"y"},
                   {"note"}});
  std::string said;  // what all of a kind have in common is said once
  for (const SampleResult& result : results) {
    std::vector<std::string> cells(8);
    cells[0] = std::to_string(result.line->line);
    cells[1] = cut_symbols(result.line->symbols);
    if (!result.error.empty()) {
      cells[7] = "error: " + result.error;
      table.add(cells);
    }
    for (const Best& best : result.best) {
      const bool first = &best == &result.best.front();
      if (!first) std::fill(cells.begin(), cells.begin() + 4, "");
      if (first && best.log_z) cells[2] = fmt::format("{:.3f} exact", *best.log_z);
      if (best.log_z) cells[4] = format_exp(*best.log_probability());
      cells[5] = fmt::format("{:.3f}", best.log_score);
      cells[6] = join_tags(best.tags, task.y);
      cells[7] = best.optimal ? "" : "heuristic: " + best.why;
      table.add(cells, first ? TextTable::Look::kPlain : TextTable::Look::kDim);
    }
    if (!result.ensemble) continue;
    const Ensemble& ensemble = *result.ensemble;
    cells[2] = format_log_z(ensemble);
    if (ensemble.has_counts()) cells[3] = fmt::format("{:.1f}", ensemble.ess());
    const bool is_common = ensemble.certainty == Certainty::kUnknown;
    if (!is_common || ensemble.caution != said) cells[7] = ensemble.caution;
    if (is_common) said = ensemble.caution;
    if (const std::optional<double> entropy = ensemble.entropy())
      cells[7] = fmt::format("entropy {:.3f} nats", *entropy);
    bool first = true;
    for (size_t i : ensemble.top(top)) {
      cells[4] = format_probability(ensemble, i);
      cells[5] = fmt::format("{:.3f}", ensemble.log_scores[i]);
      cells[6] = join_tags(ensemble.sequence(i), task.y);
      table.add(cells, first ? TextTable::Look::kPlain : TextTable::Look::kDim);
      if (first) std::fill(cells.begin(), cells.begin() + 4, ""), cells[7].clear();
      first = false;
    }
  }
  return table.str(style, "", layout);
}

std::string marginals_table(const std::vector<SampleResult>& results, const Task& task,
                            const Style& style, TextTable::Layout& layout) {
  constexpr size_t kMaxTags = 8;
  TextTable table({{"line", true}, {"t", true}, {"x"}, {"p(y_t | x)"}, {"tags"}, {"note"}});
  for (const SampleResult& result : results) {
    const std::string line = std::to_string(result.line->line);
    if (!result.error.empty()) table.add({line, "", "", "", "", "error: " + result.error});
    if (!result.ensemble) continue;
    const RealMatrix<double> marginals = result.ensemble->best_tag_marginals(task.y.size());
    const std::string kind = result.ensemble->has_exact_marginals() ? "exact" : "estimate";
    std::istringstream symbols(result.line->symbols);
    for (Eigen::Index t = 0; t < marginals.rows(); ++t) {
      std::string symbol, tags;
      symbols >> symbol;
      std::vector<int> order(static_cast<size_t>(task.y.size()));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return marginals(t, a) > marginals(t, b); });
      for (size_t i = 0; i < order.size() && marginals(t, order[i]) > 0; ++i) {
        if (i == kMaxTags) {
          tags += " …";
          break;
        }
        tags += fmt::format("{}{} {:.3f}", i == 0 ? "" : "  ", task.y.name(order[i]),
                            marginals(t, order[i]));
      }
      table.add({line, std::to_string(t + 1), symbol, kind, tags, ""});
    }
  }
  return table.str(style, "", layout);
}

void SampleTotals::add(const SampleResult& result) {
  ++num_sequences;
  if (!result.error.empty()) ++num_failed;
  if (!result.best.empty()) num_rows += result.best.front().num_rows;
  if (!result.ensemble) return;
  const Ensemble& ensemble = *result.ensemble;
  if (ensemble.info.particles > 0 && ensemble.certainty != Certainty::kExact) {
    ++num_samples;
    if (ensemble.certainty == Certainty::kUnknown) {
      ++num_without;
    } else if (ensemble.certainty != Certainty::kEstimate) {
      ++num_doubtful;
    }
  }
  const double width = std::max(ensemble.info.particles, ensemble.info.beam_width);
  num_rows += ensemble.num_rows();
  num_steps += static_cast<int64_t>(ensemble.steps.size());
  particle_steps += width * static_cast<double>(ensemble.steps.size());
  for (const StepRecord& step : ensemble.steps) {
    num_resampled += step.resampled ? 1 : 0;
    if (width > 0 && !std::isnan(step.ess)) ess_share += step.ess / width;
  }
}

std::string format_totals(const SampleTotals& totals, double seconds, int threads,
                          const Style& style) {
  const auto steps = static_cast<double>(totals.num_steps);
  std::string text;
  const auto line = [&](const char* what, const std::string& value) {
    text += fmt::format("  {}  {}\n", style.dim(pad_right(what, 16)), value);
  };
  line("sequences", totals.num_failed == 0 ? std::to_string(totals.num_sequences)
                                           : fmt::format("{}, of which {} failed",
                                                         totals.num_sequences, totals.num_failed));
  line("steps", group_digits(steps));
  line("rows computed", group_digits(static_cast<double>(totals.num_rows)));
  if (totals.particle_steps > 0) {
    line("rows / (M·T)",
         fmt::format("{:.1f} %  ({} particle-steps)",
                     100 * static_cast<double>(totals.num_rows) / totals.particle_steps,
                     group_digits(totals.particle_steps)));
  }
  if (totals.ess_share > 0) {
    line("mean ESS / M", fmt::format("{:.1f} %", 100 * totals.ess_share / steps));
    line("resampled",
         fmt::format("{:.1f} % of steps", 100 * static_cast<double>(totals.num_resampled) / steps));
  }
  if (totals.num_doubtful > 0) {
    line("error bars",
         fmt::format("{} of {} cannot be trusted", totals.num_doubtful, totals.num_samples));
  }
  if (totals.num_without > 0) {
    line("error bars",
         fmt::format("none for {} of {}: use --runs", totals.num_without, totals.num_samples));
  }
  line("time", fmt::format("{:.3f} s on {}, {} sequences/s", seconds,
                           count_of(static_cast<uint64_t>(threads), "thread"),
                           group_digits(std::round(static_cast<double>(totals.num_sequences) /
                                                   std::max(seconds, 1e-9)))));
  return text;
}

}  // namespace scry::cli
