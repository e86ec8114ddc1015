// What the JSON records of runs and searches have in common.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "dsl/task.h"
#include "runtime/smc/ensemble.h"

namespace scry {

/// Numbers are written with as many digits as reading them back takes; infinities and NaN as null.
using Json = nlohmann::ordered_json;

/// Every key that a record of a run has, whatever the method, in their order; all null.
Json blank_record();
Json names_of(std::span<const int32_t> tags, const Alphabet& alphabet);
/// An object that is not nested deeper than a record is. Throws Error.
Json parse_record(std::string_view text);
/// As ensemble_from_json does it.
Ensemble to_ensemble(const Json& json, const Task& task);
/// In one line; bytes that are no UTF-8 are replaced.
std::string dump(const Json& json);

}  // namespace scry
