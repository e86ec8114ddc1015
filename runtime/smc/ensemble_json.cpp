#include "runtime/smc/ensemble_json.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/smc/ensemble.h"

namespace scry {

Json blank_record() {
  Json record;
  for (const char* key : {"sequence",
                          "method",
                          "resampling",
                          "draws",
                          "weights",
                          "particles",
                          "beam_width",
                          "tolerance",
                          "runs",
                          "temperature",
                          "seed",
                          "length",
                          "log_z",
                          "log_z_error",
                          "log_z_status",
                          "log_z_caution",
                          "log_z_lower_bound",
                          "entropy",
                          "ess",
                          "rows",
                          "rows_per_particle_step",
                          "optimal",
                          "why",
                          "num_sequences",
                          "sequences"}) {
    record[key] = nullptr;
  }
  return record;
}

Json names_of(std::span<const int32_t> tags, const Alphabet& alphabet) {
  Json names = Json::array();
  for (int32_t tag : tags) names.push_back(alphabet.name(tag));
  return names;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);  // of bytes that are no UTF-8
}

namespace {

/// The log of p(y | x) where that is known, else of its estimate p̂; of a beam neither.
std::optional<double> log_probability_of(const Ensemble& ensemble, size_t i) {
  if (ensemble.certainty == Certainty::kLowerBound) return std::nullopt;
  return ensemble.certainty == Certainty::kExact ? ensemble.model_log_probability(i)
                                                 : ensemble.log_probability(i);
}

Json sequence_json(const Ensemble& ensemble, size_t i, const Alphabet& alphabet) {
  const std::optional<double> log_p = log_probability_of(ensemble, i);
  return {{"tags", names_of(ensemble.sequence(i), alphabet)},
          {"probability", log_p ? Json(std::exp(*log_p)) : Json()},
          {"log_probability", log_p ? Json(*log_p) : Json()},
          {"share", ensemble.probability(i)},
          {"log_weight", ensemble.log_weights[i]},
          {"log_score", ensemble.log_scores[i]},
          {"count", ensemble.count(i)}};
}

Json step_json(const StepRecord& step) {
  Json json{{"ess", step.ess}, {"resampled", step.resampled}, {"rows", step.num_rows}};
  if (step.resampled) json["ancestors"] = step.ancestors;
  return json;
}

void add_log_z(Json& record, const Ensemble& ensemble) {
  const bool bound = ensemble.certainty == Certainty::kLowerBound;
  record[bound ? "log_z_lower_bound" : "log_z"] = ensemble.log_z;
  // No spread would be an error of 0, which is for exact ones.
  if (ensemble.log_z_error && ensemble.certainty != Certainty::kNoSpread)
    record["log_z_error"] = *ensemble.log_z_error;
  record["log_z_status"] = to_string(ensemble.certainty);
  if (!ensemble.caution.empty()) record["log_z_caution"] = ensemble.caution;
}

void add_marginals(Json& record, const Ensemble& ensemble, int num_tags) {
  const RealMatrix<double> marginals = ensemble.best_tag_marginals(num_tags);
  record["marginals_status"] = ensemble.has_exact_marginals() ? "exact" : "estimate";
  record["marginals"] = Json::array();
  for (Eigen::Index t = 0; t < marginals.rows(); ++t) {
    const auto row = marginals.row(t);
    record["marginals"].push_back(std::vector<double>(row.begin(), row.end()));
  }
}

}  // namespace

std::string to_json(const Ensemble& ensemble, const Task& task, size_t max_sequences,
                    bool with_steps, bool with_marginals) {
  const RunInfo& info = ensemble.info;
  Json record = blank_record();
  record["sequence"] = info.sequence + 1;
  record["method"] = info.method;
  record["resampling"] = info.resampling;
  record["draws"] = info.draws;
  record["weights"] = info.weights;
  record["particles"] = info.particles;
  if (info.beam_width > 0) record["beam_width"] = info.beam_width;
  if (info.tolerance) record["tolerance"] = *info.tolerance;
  record["runs"] = info.runs;
  record["temperature"] = info.temperature;
  record["seed"] = info.seed;
  record["length"] = ensemble.length;
  add_log_z(record, ensemble);
  if (const std::optional<double> entropy = ensemble.entropy()) record["entropy"] = *entropy;
  record["ess"] = ensemble.ess();
  if (ensemble.steps.size() >= static_cast<size_t>(ensemble.length)) {
    record["rows"] = ensemble.num_rows();
    const double width = std::max(info.particles, info.beam_width);
    const double particle_steps = width * static_cast<double>(ensemble.steps.size());
    if (particle_steps > 0) {
      record["rows_per_particle_step"] = static_cast<double>(ensemble.num_rows()) / particle_steps;
    }
  }
  record["num_sequences"] = ensemble.size();
  record["sequences"] = Json::array();
  for (size_t i : ensemble.top(max_sequences)) {
    record["sequences"].push_back(sequence_json(ensemble, i, task.y));
  }
  if (with_steps) {
    record["steps"] = Json::array();
    for (const StepRecord& step : ensemble.steps) record["steps"].push_back(step_json(step));
  }
  if (with_marginals) add_marginals(record, ensemble, task.y.size());
  return dump(record);
}

}  // namespace scry
