#include "tools/cli/report_eval.h"

#include <fmt/format.h>

#include <cmath>

#include "tools/cli/eval_report.h"
#include "tools/cli/text.h"

namespace scry::cli {
namespace {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

/// In the order of the switch. What is 1 at its best has no use for logarithms.
Json measures_json(bool all_exact) {
  Json measures = Json::array();
  for (const MeasureRow& row : measure_table()) {
    if (row.measure == Measure::kRatio || (all_exact && row.measure == Measure::kOffsetKl))
      continue;
    measures.push_back({{"key", row.key},
                        {"heading", row.heading},
                        {"summary", row.summary},
                        {"by_reference", is_by_reference(row.measure)}});
  }
  return measures;
}

Json points_json(const EvalTable& table) {
  Json points = Json::array();
  for (const CalibrationPoint& point : table.calibration_points) {
    points.push_back({{"input", point.input + 1},
                      {"t", point.step},
                      {"share", point.share},
                      {"to_go", number(point.to_go)},
                      {"lookahead", number(point.lookahead)},
                      {"to_go_mean", number(point.to_go_mean)},
                      {"lookahead_mean", number(point.lookahead_mean)},
                      {"residual", number(point.residual)}});
  }
  return points;
}

const char* why_no_points(const EvalTable& table) {
  if (!table.has_lookahead) return "The model has no lookahead.";
  if (table.num_enumerated == 0)
    return "No input was enumerated, so the exact H_t is not known; --max-rows says how many "
           "taggings may be.";
  return "Of the inputs that were enumerated, none has two steps and a lookahead that is finite "
         "at every prefix of positive probability.";
}

}  // namespace

Report eval_report(const EvalTable& table, ReportFacts facts) {
  facts.emplace_back("experiment",
                     fmt::format("{}, {} of what draws, seed {}, temperature {}",
                                 count_of(static_cast<uint64_t>(table.num_inputs), "input"),
                                 count_of(static_cast<uint64_t>(table.runs), "run"), table.seed,
                                 table.temperature));
  facts.emplace_back("reference", describe_references(table));
  if (table.has_lookahead && table.lookahead.inputs > 0)
    facts.emplace_back(
        "relative calibration",
        fmt::format("{} nats; without a lookahead {}", format_estimate(table.lookahead.deviation),
                    format_estimate(table.lookahead.blind_deviation)));
  const bool all_exact = table.num_estimated + table.num_without_reference == 0;
  Report report{.title = "scry eval: methods compared", .facts = std::move(facts)};
  report.sections.push_back({{"kind", "eval"},
                             {"title", "Methods against M"},
                             {"measures", measures_json(all_exact)},
                             {"table", Json::parse(to_json(table))}});
  report.sections.push_back({{"kind", "calibration"},
                             {"title", "Calibration of the lookahead"},
                             {"why_none", why_no_points(table)},
                             {"points", points_json(table)}});
  return report;
}

}  // namespace scry::cli
