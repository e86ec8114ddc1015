#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/search/search.h"
#include "runtime/smc/ensemble_json.h"

namespace scry {

namespace {
Json sequence_json(const Best& best, const Alphabet& alphabet) {
  const std::optional<double> log_p = best.log_probability();
  return {{"tags", names_of(best.tags, alphabet)},
          {"probability", log_p ? Json(std::exp(*log_p)) : Json()},
          {"log_probability", log_p ? Json(*log_p) : Json()},
          {"share", nullptr},
          {"log_weight", nullptr},
          {"log_score", best.log_score},
          {"count", 1}};
}
}  // namespace

std::string to_json(std::span<const Best> best, const Task& task, const std::string& method,
                    int64_t sequence) {
  const Best& first = best.front();
  Json record = blank_record();
  record["sequence"] = sequence + 1;
  record["method"] = method;
  record["length"] = first.tags.size();
  if (first.log_z) {
    record["log_z"] = *first.log_z;
    record["log_z_error"] = 0.0;
    record["log_z_status"] = to_string(Certainty::kExact);
  }
  record["rows"] = first.num_rows;
  record["optimal"] = first.optimal;
  if (!first.optimal) record["why"] = first.why;
  record["num_sequences"] = best.size();
  record["sequences"] = Json::array();
  for (const Best& each : best) record["sequences"].push_back(sequence_json(each, task.y));
  return dump(record);
}

}  // namespace scry
