#include "tools/cli/decode_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/smc/ensemble_json.h"
#include "tools/cli/sample_report.h"

namespace scry::cli {
namespace {

std::string format_loss(const Decision& decision) {
  const std::string loss = fmt::format("{:.3f}", decision.expected_loss);
  switch (decision.status) {
    case RiskStatus::kExact:
      return loss;
    case RiskStatus::kUnreliable:
      return "≈" + loss + " unreliable";
    case RiskStatus::kBeam:
      return loss + " of the beam";
    case RiskStatus::kEstimate:
      break;
  }
  return "≈" + loss;
}

const char* range_of(const Decision& decision) {
  return decision.is_over_all ? "all taggings" : "candidates";
}

/// Shares in per cent, losses as they are.
std::string format_measured(const std::optional<Measured>& measured, bool is_share,
                            bool with_sign) {
  if (!measured) return "";
  const auto number = [&](double value) {
    value *= is_share ? 100 : 1;
    const int digits = is_share ? 2 : 3;
    return with_sign ? fmt::format("{:+.{}f}", value, digits)
                     : fmt::format("{:.{}f}", value, digits);
  };
  if (!measured->low) return number(measured->value);
  return fmt::format("{} [{}, {}]", number(measured->value), number(*measured->low),
                     number(*measured->high));
}

Json interval_of(const std::optional<Measured>& measured) {
  if (!measured || !measured->low) return nullptr;
  return {*measured->low, *measured->high};
}
Json value_or_null(const std::optional<Measured>& measured) {
  return measured ? Json(measured->value) : Json();
}

}  // namespace

std::string decision_table(const std::vector<DecodeResult>& results, const Task& task,
                           const Style& style, TextTable::Layout& layout) {
  TextTable table({{"line", true},
                   {"x"},
                   {"expected loss", true},
                   {"least of"},
                   {"y"},
                   {"loss", true},
                   {"note"}});
  for (const DecodeResult& result : results) {
    std::vector<std::string> cells(7);
    cells[0] = std::to_string(result.line->line);
    cells[1] = cut_symbols(result.line->symbols);
    if (result.decision) {
      const Decision& decision = *result.decision;
      cells[2] = format_loss(decision);
      cells[3] =
          decision.is_over_all ? "all taggings" : count_of(decision.num_candidates, "candidate");
      cells[4] = join_tags(decision.tags, task.y);
    }
    if (result.gold_loss) cells[5] = fmt::format("{:.3f}", *result.gold_loss);
    if (!result.error.empty()) cells[6] = "error: " + result.error;
    table.add(cells);
  }
  return table.str(style, "", layout);
}

std::string decision_json(const DecodeResult& result, const Task& task, LossKind loss,
                          const char* parameters) {
  const InputLine& line = *result.line;
  Json json{{"line", line.line},
            {"x", words_json(line.symbols)},
            {"error", result.error.empty() ? Json() : Json(result.error)},
            {"parameters", parameters == nullptr ? Json() : Json(parameters)}};
  if (result.decision) {
    const Decision& decision = *result.decision;
    json["sequence"] = result.sequence + 1;
    json["method"] = result.method;
    json["loss"] = loss_names()[static_cast<size_t>(loss)];
    json["tags"] = names_of(decision.tags, task.y);
    json["expected_loss"] = decision.expected_loss;
    json["expected_loss_status"] = to_string(decision.status);
    json["minimized_over"] = range_of(decision);
    json["candidates"] = decision.num_candidates > 0 ? Json(decision.num_candidates) : Json();
    json["gold"] = line.gold ? names_of(*line.gold, task.y) : Json();
    json["gold_loss"] = result.gold_loss ? Json(*result.gold_loss) : Json();
  }
  return dump(json) + "\n";
}

std::string tagged_text(const DecodeResult& result, const Task& task) {
  const InputLine& line = *result.line;
  const std::vector<int32_t>& tags = result.decision->tags;
  std::string text;
  if (line.places.empty()) {
    text = line.symbols + '\t';
    for (size_t t = 0; t < tags.size(); ++t) text += (t == 0 ? "" : " ") + task.y.name(tags[t]);
    return text + '\n';
  }
  for (size_t t = 0; t < line.places.size(); ++t) {  // one more than tags, if EOS was written
    const int tag = t < tags.size() ? tags[t] : task.y.eos().value_or(0);
    text += line.places[t].before + task.y.name(tag) + line.places[t].after + '\n';
  }
  return text + '\n';
}

std::string comparison_table(const std::vector<ComparedRow>& rows, size_t num_sequences,
                             size_t num_left_out, const Style& style) {
  std::string text = fmt::format(
      "\n{}{}; 95 % intervals by bootstrap over sequences, where there are 20 and they differ; "
      "change: by least risk instead of the row, in pairs\n",
      count_of(num_sequences, "sequence"),
      num_left_out == 0 ? "" : fmt::format(", {} left out", num_left_out));
  TextTable table({{"decided by"},
                   {"tags right %"},
                   {"change"},
                   {"sequences right %"},
                   {"change"},
                   {"span F1 %"},
                   {"change"},
                   {"mean loss"},
                   {"change"}});
  for (const ComparedRow& row : rows) {
    std::vector<std::string> cells{row.name};
    for (size_t which = 0; which < kNumAccuracies; ++which) {
      const bool is_share = static_cast<Accuracy>(which) != Accuracy::kLoss;
      cells.push_back(format_measured(row.measured[which], is_share, false));
      cells.push_back(format_measured(row.last_less_this[which], is_share, true));
    }
    table.add(cells);
  }
  return text + table.str(style, "");
}

std::string comparison_json(const std::vector<ComparedRow>& rows, size_t num_sequences,
                            size_t num_left_out) {
  Json list = Json::array();
  for (const ComparedRow& row : rows) {
    Json json{{"name", row.name}};
    for (size_t which = 0; which < kNumAccuracies; ++which) {
      const std::string name = accuracy_names()[which];
      json[name] = value_or_null(row.measured[which]);
      json[name + "_interval"] = interval_of(row.measured[which]);
      json[name + "_change"] = value_or_null(row.last_less_this[which]);
      json[name + "_change_interval"] = interval_of(row.last_less_this[which]);
    }
    list.push_back(std::move(json));
  }
  const Json comparison{
      {"comparison",
       {{"sequences", num_sequences}, {"left_out", num_left_out}, {"rows", std::move(list)}}}};
  return dump(comparison) + "\n";
}

}  // namespace scry::cli
