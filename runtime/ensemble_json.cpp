#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/ensemble.h"

namespace scry {
namespace {

// Numbers are written with as many digits as reading them back takes; infinities and NaN as null.
using Json = nlohmann::ordered_json;

Json sequence_json(const Ensemble& ensemble, size_t i, const Alphabet& alphabet) {
  Json tags = Json::array();
  for (int32_t tag : ensemble.sequence(i)) tags.push_back(alphabet.name(tag));
  return {{"tags", std::move(tags)},
          {"probability", ensemble.probability(i)},
          {"log_weight", ensemble.log_weights[i]},
          {"log_score", ensemble.log_scores[i]},
          {"count", ensemble.counts[i]}};
}

Json step_json(const StepRecord& step) {
  Json json{{"ess", step.ess}, {"resampled", step.resampled}, {"rows", step.num_rows}};
  if (step.resampled) json["ancestors"] = step.ancestors;
  return json;
}

}  // namespace

std::string to_json(const Ensemble& ensemble, const Task& task, size_t max_sequences,
                    bool with_steps) {
  const RunInfo& info = ensemble.info;
  Json rows, rows_per_particle_step;  // null
  if (ensemble.steps.size() >= static_cast<size_t>(ensemble.length)) {
    rows = ensemble.num_rows();
    const double width = std::max(info.particles, info.beam_width);
    const double particle_steps = width * static_cast<double>(ensemble.steps.size());
    if (particle_steps > 0) {
      rows_per_particle_step = static_cast<double>(ensemble.num_rows()) / particle_steps;
    }
  }
  Json sequences = Json::array();
  for (size_t i : ensemble.top(max_sequences)) {
    sequences.push_back(sequence_json(ensemble, i, task.y));
  }
  Json json{{"sequence", info.sequence + 1},
            {"method", info.method},
            {"resampling", info.resampling},
            {"particles", info.particles},
            {"beam_width", info.beam_width > 0 ? Json(info.beam_width) : Json()},
            {"runs", info.runs},
            {"temperature", info.temperature},
            {"seed", info.seed},
            {"length", ensemble.length},
            {"log_z", ensemble.log_z},
            {"log_z_error", ensemble.log_z_error ? Json(*ensemble.log_z_error) : Json()},
            {"ess", ensemble.ess()},
            {"rows", std::move(rows)},
            {"rows_per_particle_step", std::move(rows_per_particle_step)},
            {"num_sequences", ensemble.size()},
            {"sequences", std::move(sequences)}};
  if (with_steps) {
    Json steps = Json::array();
    for (const StepRecord& step : ensemble.steps) steps.push_back(step_json(step));
    json["steps"] = std::move(steps);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);  // of bytes that are no UTF-8
}

}  // namespace scry
