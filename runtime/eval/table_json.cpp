#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/eval/experiment.h"
#include "runtime/smc/ensemble_json.h"

namespace scry {
namespace {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

/// The same keys for both.
Json row_json(const EvalRow& row) {
  Json json{{"configuration", row.configuration.name},
            {"method", row_of(row.configuration.method).name},
            {"resampled", trigger_names()[static_cast<size_t>(row.configuration.trigger)]},
            {"draws", draws_names()[static_cast<size_t>(row.configuration.draws)]},
            {"weights", weights_names()[static_cast<size_t>(row.configuration.weights)]},
            {"particles", row.particles},
            {"runs", row.runs},
            {"inputs", row.inputs},
            {"references", row.references},
            {"exact_references", row.exact_references},
            {"failed_inputs", row.failed_inputs},
            {"empty_runs", row.empty_runs}};
  for (const MeasureRow& measure : measure_table()) {
    const Estimate& estimate = row[measure.measure];
    json[measure.key] = number(estimate.value);
    json[fmt::format("{}_error", measure.key)] = number(estimate.error);
  }
  json["seconds_per_input"] = number(row.seconds_per_input);
  return json;
}

}  // namespace

std::string to_json(const EvalTable& table) {
  Json left_out = Json::array(), rows = Json::array();
  for (const LeftOut& each : table.left_out)
    left_out.push_back({{"input", each.input + 1}, {"why", each.message}});
  for (const EvalRow& row : table.rows) rows.push_back(row_json(row));
  const bool estimated = table.num_estimated > 0;
  return dump(Json{
      {"inputs", table.num_inputs},
      {"left_out", std::move(left_out)},
      {"runs", table.runs},
      {"temperature", table.temperature},
      {"seed", table.seed},
      {"threads", table.threads},
      {"reference",
       {{"enumerated", table.num_enumerated},
        {"finite_states", table.num_finite},
        {"estimated", table.num_estimated},
        {"none", table.num_without_reference},
        {"estimated_by", estimated ? Json(table.estimated_by) : Json()},
        {"log_z_error", number(table.reference_error.value)},
        {"raised", table.num_raised}}},
      {"lookahead",
       {{"inputs", table.lookahead.inputs},
        {"calibration", table.has_lookahead ? number(table.lookahead.deviation.value) : Json()},
        {"calibration_error",
         table.has_lookahead ? number(table.lookahead.deviation.error) : Json()},
        {"blind_calibration", number(table.lookahead.blind_deviation.value)},
        {"blind_calibration_error", number(table.lookahead.blind_deviation.error)}}},
      {"rows", std::move(rows)}});
}

std::string to_csv(const EvalTable& table) {
  std::string text;
  const auto add_line = [&](const Json& row, auto cell_of) {
    std::string line;
    for (const auto& [key, value] : row.items())
      line += (line.empty() ? "" : ",") + cell_of(key, value);
    text += line + "\n";
  };
  const Json blank = row_json(EvalRow{});
  add_line(blank, [](const std::string& key, const Json&) { return key; });
  for (const EvalRow& row : table.rows) {
    add_line(row_json(row), [](const std::string&, const Json& value) {
      return value.is_null()     ? std::string()
             : value.is_string() ? value.get<std::string>()
                                 : value.dump();
    });
  }
  return text;
}

}  // namespace scry
