#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "tools/cli/graph_report.h"
#include "tools/cli/text.h"

namespace scry::cli {
namespace {

using Look = TextTable::Look;

std::string show_axes(const NodeReport& node) {
  if (node.work == node.axes) return to_string(node.axes);
  return fmt::format("{} → {}", to_string(node.work), to_string(node.axes));
}

/// What the node is returned as, or made of.
std::string show_note(const NodeReport& node) {
  std::vector<std::string> notes;
  if (!node.outputs.empty()) notes.push_back(fmt::format("→ {}", fmt::join(node.outputs, ", ")));
  if (!node.parameters.empty()) {
    notes.push_back(
        fmt::format("{} {}", node.is_product ? "with" : "from", fmt::join(node.parameters, ", ")));
  }
  return fmt::format("{}", fmt::join(notes, ", "));
}

std::string show_flops(const Flops& flops) { return flops.is_zero() ? "" : to_string(flops); }

class TextReport {
 public:
  TextReport(const GraphReport& report, const Style& style) : report_(report), style_(style) {}

  std::string str() const {
    std::vector<std::string> parts;
    if (!report_.settings.empty()) parts.push_back(show_settings());
    for (const StageReport& stage : report_.stages) parts.push_back(show_stage(stage));
    for (const std::string& part : {show_products(), show_sums()}) {
      if (!part.empty()) parts.push_back(part);
    }
    return fmt::format("{}", fmt::join(parts, "\n"));
  }

 private:
  std::string show_settings() const {
    TextTable table({{"name"}, {"value"}, {"by default"}, {""}});
    for (const Setting& setting : report_.settings) {
      table.add(
          {setting.name, setting.value, setting.is_given ? setting.fallback : "", setting.help});
    }
    return fmt::format("{}  by --set NAME=VALUE\n{}", style_.bold("settings"), table.str(style_));
  }

  std::string show_stage(const StageReport& stage) const {
    TextTable table(
        {{"id", true}, {""}, {"operation"}, {"shape"}, {"axes"}, {"FLOPs", true}, {""}});
    for (const NodeReport& node : stage.nodes) {
      table.add({fmt::format("%{}", node.id), node.is_product ? "◆" : "", node.operation,
                 node.shape, show_axes(node), show_flops(node.flops), show_note(node)},
                node.is_product ? Look::kAccent
                : node.is_leaf  ? Look::kDim
                                : Look::kPlain);
    }
    std::string text =
        fmt::format("{}  {}\n", style_.bold(stage.name), stage.purpose) + table.str(style_);
    std::vector<std::string> sums;
    for (const auto& [axes, flops] : stage.flops) {
      sums.push_back(fmt::format("{} per {}", to_string(flops), unit_of(axes)));
    }
    if (!sums.empty()) text += fmt::format("  FLOPs: {}\n", fmt::join(sums, ", "));
    return text;
  }

  /// Where the matrix products are, which is where the time goes.
  std::string show_products() const {
    TextTable table(
        {{"stage"}, {"id", true}, {"product"}, {"once per"}, {"FLOPs", true}, {"parameters"}});
    for (const StageReport& stage : report_.stages) {
      for (const NodeReport& node : stage.nodes) {
        if (!node.is_product) continue;
        table.add({stage.name, fmt::format("%{}", node.id), node.sizes, unit_of(node.work),
                   to_string(node.flops), fmt::format("{}", fmt::join(node.parameters, ", "))});
      }
    }
    if (table.empty()) return "";
    return fmt::format("◆ {}\n{}", style_.bold("Matrix products"), table.str(style_));
  }

  std::string show_sums() const {
    std::set<std::tuple<int, bool, std::string>> units;  // in the order of how often
    for (const StageReport& stage : report_.stages) {
      for (const auto& [axes, flops] : stage.flops) {
        const std::string unit = unit_of(axes);
        units.emplace(LessOften::rank(axes), unit == "position", unit);
      }
    }
    if (units.empty()) return "";
    std::vector<TextTable::Column> columns{{"stage"}};
    for (const auto& [rank, position, unit] : units) columns.push_back({unit, true});
    columns.push_back({"particle-step", true});
    columns.push_back({"of it in products", true});
    TextTable table(columns);
    bool has_steps = false;
    for (const StageReport& stage : report_.stages) {
      if (stage.flops.empty()) continue;
      std::vector<std::string> cells{stage.name};
      for (const auto& [rank, position, unit] : units) {
        Flops sum;
        for (const auto& [axes, flops] : stage.flops) {
          if (unit_of(axes) == unit) sum += flops;
        }
        cells.push_back(show_flops(sum));
      }
      const Flops step = per_particle_step(stage.flops, report_.num_tags);
      has_steps = has_steps || !step.is_zero();
      cells.push_back(show_flops(step));
      cells.push_back(
          show_flops(per_particle_step(sum_product_flops(stage.graph), report_.num_tags)));
      table.add(std::move(cells));
    }
    std::string text = fmt::format("{}\n{}", style_.bold("FLOPs per"), table.str(style_));
    if (has_steps) {
      text += fmt::format(
          "  A particle-step is one prefix and its {} tags: prefix + {}·(prefix, tag).\n",
          report_.num_tags, report_.num_tags);
    }
    return text;
  }

  const GraphReport& report_;
  Style style_;
};

}  // namespace

std::string to_text(const GraphReport& report, const Style& style) {
  return TextReport(report, style).str();
}

}  // namespace scry::cli
