// What `scry eval` found, for people.
#pragma once
#include <string>

#include "runtime/eval/experiment.h"
#include "tools/cli/text.h"

namespace scry::cli {

/// "0.590 ±0.013": as many digits as the error leaves worth telling; "-" if there is nothing to
/// tell.
std::string format_estimate(const Estimate& estimate);

/// The table, M by M, with what it was measured against before it and its legend after it.
std::string format_eval(const EvalTable& table, const Style& style);

/// The same as Markdown, without a legend: docs/eval.md explains the columns.
std::string format_eval_markdown(const EvalTable& table);

}  // namespace scry::cli
