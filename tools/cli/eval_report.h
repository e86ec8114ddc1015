// What `scry eval` found, for people.
#pragma once
#include <string>

#include "runtime/eval/experiment.h"
#include "tools/cli/text.h"

namespace scry::cli {

/// "0.590 ±0.013": as many digits as the error leaves worth telling; "-" if there is nothing to
/// tell.
std::string format_estimate(const Estimate& estimate);

/// What samples were measured against, in a sentence.
std::string describe_references(const EvalTable& table);

/// Whether the measure needs Z or p itself, and so is as good as the reference.
bool is_by_reference(Measure measure);

/// The table, M by M, with what it was measured against before it and its legend after it.
std::string format_eval(const EvalTable& table, const Style& style);

/// The same as Markdown, without a legend: docs/eval.md explains the columns.
std::string format_eval_markdown(const EvalTable& table);

}  // namespace scry::cli
