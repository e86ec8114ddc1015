// One run of `scry sample` as a section of a report: its lanes over t and its forest.
#pragma once
#include "runtime/smc/lineage.h"
#include "tools/cli/report.h"
#include "tools/cli/sample_report.h"

namespace scry::cli {

/// Prefixes of a forest that a page has, at most (but a longest branch in any case).
inline constexpr size_t kMostNodes = 1500;
/// Taggings that a section lists, at most.
inline constexpr size_t kMostTaggings = 20;

/// A section for one result; `note` is shown first, unless it failed. `lineage` is of the run that
/// it is of, which `options` describe; null if there is none to show.
Json run_section(const SampleResult& result, const Task& task, const std::string& note,
                 const Lineage* lineage, const SampleOptions& options);

}  // namespace scry::cli
