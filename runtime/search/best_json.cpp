#include <nlohmann/json.hpp>

#include "runtime/search/search.h"
#include "runtime/smc/ensemble_json.h"

namespace scry {

std::string to_json(const Best& best, const Task& task, const std::string& method,
                    int64_t sequence) {
  Json record = blank_record();
  record["sequence"] = sequence + 1;
  record["method"] = method;
  record["length"] = best.tags.size();
  record["rows"] = best.num_rows;
  record["optimal"] = best.optimal;
  if (!best.optimal) record["why"] = best.why;
  record["num_sequences"] = 1;
  record["sequences"] = {{{"tags", names_of(best.tags, task.y)},
                          {"probability", nullptr},
                          {"log_probability", nullptr},
                          {"share", nullptr},
                          {"log_weight", nullptr},
                          {"log_score", best.log_score},
                          {"count", 1}}};
  return dump(record);
}

}  // namespace scry
