// What `scry eval` found, as a report: the measures against M, and the lookahead by itself.
#pragma once
#include "runtime/eval/experiment.h"
#include "tools/cli/report.h"

namespace scry::cli {

/// `facts` come first; what the experiment was is added.
Report eval_report(const EvalTable& table, ReportFacts facts);

}  // namespace scry::cli
