#include "tools/cli/report_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace scry::cli {
namespace {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

/// Whole branches, the heaviest first, by what their last prefix weighed when it was there or at
/// the end, whichever is more: so nothing on the page ends that went on. In the order of rows, the
/// root first.
std::vector<size_t> choose_rows(const Lineage& lineage, std::span<const double> shares,
                                std::span<const double> finals, size_t most) {
  std::vector<char> has_children(lineage.rows.size(), 0);
  for (const Lineage::Row& row : lineage.rows) {
    if (row.parent >= 0) has_children[static_cast<size_t>(row.parent)] = 1;
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < has_children.size(); ++i) {
    if (has_children[i] == 0) order.push_back(i);
  }
  const auto weight = [&](size_t i) { return std::max(shares[i], finals[i]); };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return weight(a) > weight(b); });
  std::vector<char> is_chosen(lineage.rows.size(), 0);
  size_t count = 0;
  for (size_t i : order) {
    std::vector<size_t> path;
    for (auto row = static_cast<int32_t>(i); row >= 0 && is_chosen[static_cast<size_t>(row)] == 0;
         row = lineage.rows[static_cast<size_t>(row)].parent)
      path.push_back(static_cast<size_t>(row));
    if (count > 0 && count + path.size() > most) continue;
    for (size_t row : path) is_chosen[row] = 1;
    count += path.size();
  }
  std::vector<size_t> chosen;
  for (size_t i = 0; i < is_chosen.size(); ++i) {
    if (is_chosen[i] != 0) chosen.push_back(i);
  }
  return chosen;
}

Json nodes_json(const Lineage& lineage, const Alphabet& tags) {
  const std::vector<double> shares = lineage.shares(), finals = lineage.final_shares();
  Json nodes = Json::array();
  std::vector<int64_t> number_of(lineage.rows.size(), -1);
  for (size_t i : choose_rows(lineage, shares, finals, kMostNodes)) {
    const Lineage::Row& row = lineage.rows[i];
    number_of[i] = static_cast<int64_t>(nodes.size());
    nodes.push_back({{"parent", row.parent < 0 ? -1 : number_of[static_cast<size_t>(row.parent)]},
                     {"tag", row.tag < 0 ? std::string() : tags.name(row.tag)},
                     {"score", number(row.log_score)},
                     {"compat", lineage.to_go.empty() ? Json() : number(row.compat)},
                     {"share", shares[i]},
                     {"final", finals[i]},
                     {"count", row.count}});
  }
  return nodes;
}

/// Of the levels from 1 on. A run that failed has no records of its steps.
Json steps_json(const Lineage& lineage) {
  const std::vector<StepRecord>& records = lineage.outcome.ensemble.steps;
  Json steps = Json::array();
  for (int t = 1; t < lineage.num_levels(); ++t) {
    const auto at = static_cast<size_t>(t);
    const StepRecord* record = at <= records.size() ? &records[at - 1] : nullptr;
    steps.push_back({{"ess", record != nullptr ? number(record->ess) : Json()},
                     {"resampled", record != nullptr && record->resampled},
                     {"rows", lineage.level(t).size()},
                     {"left_out", lineage.left_out[at]},
                     {"log_z", number(lineage.log_totals[at])},
                     {"to_go", lineage.to_go.empty() ? Json() : number(lineage.to_go[at])}});
  }
  return steps;
}

Json taggings_json(const SampleResult& result, const Alphabet& tags) {
  Json taggings = Json::array();
  if (result.ensemble) {
    for (size_t i : result.ensemble->top(kMostTaggings)) {
      taggings.push_back(
          {{"tags", names_of(result.ensemble->sequence(i), tags)},
           {"share", number(result.ensemble->probability(i))},
           {"score", number(result.ensemble->log_scores[i])},
           {"count", result.ensemble->has_counts() ? Json(result.ensemble->counts[i]) : Json()}});
    }
  }
  for (const Best& best : std::span(result.best).first(std::min(result.best.size(), kMostTaggings)))
    taggings.push_back(
        {{"tags", names_of(best.tags, tags)},
         {"share", best.log_probability() ? Json(std::exp(*best.log_probability())) : Json()},
         {"score", number(best.log_score)},
         {"count", nullptr}});
  return taggings;
}

std::string log_z_text(const Ensemble& ensemble) {
  const bool has_bar =
      ensemble.certainty == Certainty::kEstimate || ensemble.certainty == Certainty::kUnreliable;
  return fmt::format(
      "{:.6g}{} ({}{})", ensemble.log_z,
      has_bar && ensemble.log_z_error ? fmt::format(" ± {:.2g}", 1.96 * *ensemble.log_z_error) : "",
      to_string(ensemble.certainty), ensemble.caution.empty() ? "" : ": " + ensemble.caution);
}

ReportFacts facts_of(const SampleResult& result) {
  ReportFacts facts{
      {"input", fmt::format("line {}, sequence {}", result.line->line, result.sequence + 1)}};
  if (!result.ensemble) return facts;
  const RunInfo& info = result.ensemble->info;
  std::string how = info.method;
  if (info.particles > 0) how += fmt::format(", M = {}", info.particles);
  if (info.beam_width > 0) how += fmt::format(", width {}", info.beam_width);
  if (info.runs > 1) how += fmt::format(", {} runs pooled", info.runs);
  facts.emplace_back("method", how);
  if (!info.resampling.empty()) facts.emplace_back("resampling", info.resampling);
  if (info.temperature != 1) facts.emplace_back("temperature", fmt::format("{}", info.temperature));
  facts.emplace_back("log Z", log_z_text(*result.ensemble));
  facts.emplace_back("distinct taggings", fmt::format("{}", result.ensemble->size()));
  return facts;
}

/// What the totals of levels are of, for the caption of their lane.
const char* log_z_words(const MethodRow& method) {
  if (method.selects == Selects::kBest || method.selects == Selects::kAll)
    return "log Ẑ_t is the log of the sum over the prefixes kept, of their exp(G_t), or exp(G_t + "
           "C_t) where the lookahead weighs; for a beam no estimate of log Z.";
  return method.weighs == Weighs::kLookahead
             ? "log Ẑ_t is the log of the total weight after step t: an estimate of log Σ exp(G_t "
               "+ C_t) over all prefixes. The last is log Ẑ."
             : "log Ẑ_t is the log of the total weight after step t: an estimate of log Σ exp G_t "
               "over all prefixes. The last is log Ẑ.";
}

}  // namespace

Json run_section(const SampleResult& result, const Task& task, const std::string& note,
                 const Lineage* lineage, const SampleOptions& options) {
  Json section{{"kind", "run"},
               {"title", fmt::format("Sequence {}: {}", result.sequence + 1,
                                     cut_symbols(result.line->symbols))},
               {"facts", facts_json(facts_of(result))},
               {"note", result.error.empty() ? note : "It failed: " + result.error},
               {"x", Json::array()},
               {"steps", Json::array()},
               {"nodes", Json::array()},
               {"taggings", taggings_json(result, task.y)},
               {"num_taggings", result.ensemble ? result.ensemble->size() : result.best.size()},
               {"share_name", !result.ensemble || result.ensemble->is_whole_posterior()
                                  ? "p(y | x)"
                                  : "share of the weight"}};
  if (lineage == nullptr || lineage->rows.empty()) return section;
  const MethodRow& method = row_of(options.method);
  const bool draws = method.selects == Selects::kDraws;
  section["particles"] = draws || method.selects == Selects::kReduces ? options.particles : 0;
  section["has_counts"] = draws;
  section["resamples_before"] =
      method.weighs_before_draw() && options.resample_at == ResampleAt::kBefore;
  section["ess_words"] = draws ? "Of the particles, before any resampling in the step."
                               : "Of the prefixes that were kept.";
  section["log_z_words"] = log_z_words(method);
  for (int symbol : lineage->x) section["x"].push_back(task.x.name(symbol));
  section["steps"] = steps_json(*lineage);
  section["nodes"] = nodes_json(*lineage, task.y);
  section["levels"] = lineage->num_levels();
  section["num_prefixes"] = lineage->rows.size() - 1;
  return section;
}

}  // namespace scry::cli
