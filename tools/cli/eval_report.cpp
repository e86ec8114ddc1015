#include "tools/cli/eval_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace scry::cli {
namespace {

/// Decimals that show so many digits of a number.
int decimals_for(double value, int digits) {
  if (!(std::abs(value) > 0) || !std::isfinite(value)) return digits;
  return std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 6);
}

/// Without a minus before nothing but zeros.
std::string format_fixed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.starts_with('-') && text.find_first_of("123456789") == std::string::npos)
    text.erase(0, 1);
  return text;
}

std::string format_time(double seconds) {
  if (std::isnan(seconds)) return "-";
  if (seconds < 1e-3)
    return fmt::format("{} µs", format_fixed(seconds * 1e6, decimals_for(seconds * 1e6, 2)));
  if (seconds < 1)
    return fmt::format("{} ms", format_fixed(seconds * 1e3, decimals_for(seconds * 1e3, 2)));
  return fmt::format("{} s", format_fixed(seconds, decimals_for(seconds, 2)));
}

std::string inputs_of(int count) { return count_of(static_cast<uint64_t>(count), "input"); }

/// Of a divergence that is estimated: below 0 it is chance, and says only how large it can be.
std::string format_divergence(const Estimate& estimate) {
  if (!(estimate.value < 0)) return format_estimate(estimate);
  const double most = estimate.value + 1.96 * estimate.error;
  return most > 0 ? "<" + format_fixed(most, decimals_for(most, 2)) : "-";
}

std::string format_cell(const EvalRow& row, Measure measure) {
  const Estimate& estimate = row[measure];
  if (std::isnan(estimate.value)) return "-";
  const MethodRow& method = row_of(row.configuration.method);
  const bool has_particles =
      method.selects != Selects::kReduces && row.configuration.weights == Weights::kSampler;
  if (measure == Measure::kEss && !has_particles) return "-";
  const bool all_exact = row.exact_references == row.inputs;
  if (measure == Measure::kOffsetKl)  // where it is no bound, it is the KL
    return all_exact ? "" : "≥" + format_estimate(estimate);
  const std::string text = measure == Measure::kEss ? fmt::format("{:.0f} %", 100 * estimate.value)
                           : measure == Measure::kProposalKl ? format_divergence(estimate)
                                                             : format_estimate(estimate);
  return (all_exact || !is_by_reference(measure) || text == "-" ? "" : "≈") + text;
}

std::string describe_lookahead(const EvalTable& table) {
  const LookaheadReport& report = table.lookahead;
  if (report.inputs == 0 || !table.has_lookahead) return "";
  return fmt::format(
      "The lookahead by itself: C_t misses the exact H_t by {} nats, beyond what prefixes of one "
      "length share; no lookahead at all, by {} (relative calibration, {}).\n",
      format_estimate(report.deviation), format_estimate(report.blind_deviation),
      inputs_of(report.inputs));
}

/// What a reader must know of single rows.
std::string describe_failures(const EvalTable& table) {
  std::string text;
  for (const EvalRow& row : table.rows) {
    const std::string name = fmt::format("{} with M = {}", row.configuration.name, row.particles);
    if (row.configuration.method == Method::kExact && row.exact_references < row.inputs) {
      text += fmt::format("{}: on {} the draws are from the estimate of p.\n", name,
                          inputs_of(row.inputs - row.exact_references));
    }
    if (row.failed_inputs > 0)
      text += fmt::format("{}: nothing was found on {}, left out of its row.\n", name,
                          inputs_of(row.failed_inputs));
    if (row.empty_runs > 0) {
      text += fmt::format("{}: {} found nothing; Ẑ = 0 there, and all but Ẑ/Z is of the others.\n",
                          name, count_of(static_cast<uint64_t>(row.empty_runs), "run"));
    }
  }
  return text;
}

/// Those for people of which some row has something to tell; offset KLs where they differ from KLs.
std::vector<MeasureRow> shown_measures(const EvalTable& table) {
  std::vector<MeasureRow> shown;
  for (const MeasureRow& measure : measure_table()) {
    const bool is_told = std::ranges::any_of(table.rows, [&](const EvalRow& row) {
      if (measure.measure == Measure::kOffsetKl &&
          format_estimate(row[measure.measure]) == format_estimate(row[Measure::kKl]))
        return false;
      const std::string cell = format_cell(row, measure.measure);
      return !cell.empty() && cell != "-";
    });
    if (measure.is_shown && is_told) shown.push_back(measure);
  }
  return shown;
}

/// How much was evaluated, and what it is measured against.
std::string describe_inputs(const EvalTable& table) {
  const int evaluated = table.num_inputs - static_cast<int>(table.left_out.size());
  return fmt::format(
      "{}{}, {} of each. {}\n", inputs_of(evaluated),
      table.left_out.empty() ? "" : fmt::format(" ({} left out)", table.left_out.size()),
      count_of(static_cast<uint64_t>(table.runs), "run"), describe_references(table));
}

std::vector<std::string> cells_of(const EvalRow& row, const std::vector<MeasureRow>& measures) {
  std::vector<std::string> cells{row.configuration.name, std::to_string(row.particles)};
  for (const MeasureRow& measure : measures) cells.push_back(format_cell(row, measure.measure));
  cells.push_back(format_time(row.seconds_per_input));
  return cells;
}

std::string legend(const EvalTable& table, const Style& style) {
  std::string text;
  int width = 9;
  for (const EvalRow& row : table.rows)
    width = std::max(width, display_width(row.configuration.name));
  const auto line = [&](std::string_view heading, std::string_view words) {
    text += fmt::format("  {}  {}\n", style.bold(pad_right(heading, width)), words);
  };
  for (const MeasureRow& measure : shown_measures(table)) line(measure.heading, measure.summary);
  line("time", fmt::format("of one run for one input, on {}",
                           count_of(static_cast<uint64_t>(table.threads), "thread")));
  line("±", "one standard error, over inputs and runs: 1.96 of them make a 95 % interval");
  text += "\n";
  for (const EvalRow& row : table.rows) {
    const Configuration& c = row.configuration;
    if (row.inputs == 0 || row.particles != table.rows.front().particles) continue;
    const bool is_bound = row_of(c.method).log_z == LogZ::kLowerBound;
    line(c.name, c.summary + (is_bound ? ": no sample; its Ẑ is at most Z" : ""));
  }
  return text;
}

}  // namespace

bool is_by_reference(Measure measure) {
  return measure == Measure::kKl || measure == Measure::kBias || measure == Measure::kRmse ||
         measure == Measure::kRatio || measure == Measure::kMarginals ||
         measure == Measure::kProposalKl;
}

std::string describe_references(const EvalTable& table) {
  std::vector<std::string> parts;
  if (table.num_enumerated > 0)
    parts.push_back(fmt::format("exact for {} by enumeration", inputs_of(table.num_enumerated)));
  if (table.num_finite > 0)
    parts.push_back(fmt::format("exact for {} over finite states", inputs_of(table.num_finite)));
  if (table.num_estimated > 0) {
    parts.push_back(fmt::format("estimated for {} by {} (standard error of log Z: {:.2g} nats)",
                                inputs_of(table.num_estimated), table.estimated_by,
                                table.reference_error.value));
  }
  if (table.num_without_reference > 0)
    parts.push_back(fmt::format("unknown for {} (left out of what needs it)",
                                inputs_of(table.num_without_reference)));
  return fmt::format("p(y|x), which samples are measured against, is {}.", fmt::join(parts, ", "));
}

std::string format_estimate(const Estimate& estimate) {
  const auto [value, error] = estimate;
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  if (std::isnan(error) || error < 5e-5) {
    if (std::abs(value) < 5e-7) return "0";  // rounded, like all others
    return fmt::format("{:.{}g}", value, std::abs(value) < 1e-4 ? 2 : 4);
  }
  const int decimals = decimals_for(error, 2);
  return fmt::format("{} ±{}", format_fixed(value, decimals), format_fixed(error, decimals));
}

std::string format_eval(const EvalTable& table, const Style& style) {
  std::string text = describe_inputs(table);
  const std::vector<MeasureRow> measures = shown_measures(table);
  std::vector<TextTable::Column> columns{{"method"}, {"M", true}};
  for (const MeasureRow& measure : measures) columns.push_back({measure.heading, true});
  columns.push_back({"time", true});
  TextTable rows(columns);
  std::vector<int> particles{0};  // of each line; the first is that of headings
  for (const EvalRow& row : table.rows) {
    if (row.inputs == 0) continue;
    rows.add(cells_of(row, measures));
    particles.push_back(row.particles);
  }
  std::istringstream lines(rows.empty() ? "" : rows.str(style, ""));
  size_t i = 0;
  for (std::string line; std::getline(lines, line); ++i) {
    if (i == 0 || (i > 1 && particles[i] != particles[i - 1])) text += "\n";
    text += line + "\n";
  }
  text += "\n" + legend(table, style);
  const std::string notes = describe_lookahead(table) + describe_failures(table);
  if (!notes.empty()) text += "\n" + notes;
  return text;
}

std::string format_eval_markdown(const EvalTable& table) {
  const std::vector<MeasureRow> measures = shown_measures(table);
  const auto line = [](const std::vector<std::string>& cells) {
    return fmt::format("| {} |\n", fmt::join(cells, " | "));
  };
  std::vector<std::string> headings{"method", "M"}, rules{"---", "--:"};
  for (const MeasureRow& measure : measures) headings.emplace_back(measure.heading);
  headings.emplace_back("time");
  rules.resize(headings.size(), "--:");
  std::string text = describe_inputs(table) + "\n" + line(headings) + line(rules);
  for (const EvalRow& row : table.rows) {
    if (row.inputs > 0) text += line(cells_of(row, measures));
  }
  text += fmt::format("\nTimes are of one run for one input, on {}; ± is one standard error.\n",
                      count_of(static_cast<uint64_t>(table.threads), "thread"));
  const std::string notes = describe_lookahead(table) + describe_failures(table);
  std::istringstream lines(notes);
  if (!notes.empty()) text += "\n";
  for (std::string note; std::getline(lines, note);) text += "- " + note + "\n";
  return text;
}

}  // namespace scry::cli
