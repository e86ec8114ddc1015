#include <fmt/format.h>

#include <array>

#include "tools/cli/graph_report.h"

namespace scry::cli {
namespace {

std::string quote(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

/// From pale (rare) to strong (often).
const char* colour_of(Axes axes) {
  static constexpr std::array kByRank{"#f2f2f2", "#e8e3d3", "#e3f1e4", "#d0e8d3",
                                      "#d7ebd9", "#b5d9ba", "#cfe2f7", "#f9cb9c"};
  return kByRank.at(static_cast<size_t>(LessOften::rank(axes)));
}

class DotReport {
 public:
  explicit DotReport(const GraphReport& report) : report_(report) {}

  std::string str() {
    line("digraph scry {");
    line("  rankdir=TB; compound=true; fontname=\"Helvetica\"; labeljust=l;");
    line(
        "  node [shape=box, style=filled, fontname=\"Helvetica\", fontsize=10, "
        "margin=\"0.08,0.04\"];");
    line("  edge [arrowsize=0.6, color=\"#777777\"];");
    for (size_t i = 0; i < report_.stages.size(); ++i) stage(i, report_.stages[i]);
    legend();
    line("}");
    return text_;
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  void stage(size_t index, const StageReport& stage) {
    const auto name = [&](NodeId id) { return fmt::format("s{}_{}", index, id); };
    line(fmt::format("  subgraph cluster_{} {{", index));
    line(fmt::format("    label={}; color=\"#999999\";", quote(stage.name + ": " + stage.purpose)));
    for (const NodeReport& node : stage.nodes) {
      used_.insert({node.axes, {}});
      const Node& traced = stage.graph[node.id];
      std::string label =
          node.is_leaf ? node.name : fmt::format("%{} {}", node.id, info(traced.op).name);
      if (!node.parameters.empty()) label += fmt::format("\n{}", fmt::join(node.parameters, "\n"));
      label += "\n" + node.shape;
      if (!node.flops.is_zero())
        label += fmt::format("\n{} FLOPs per {}", to_string(node.flops), unit_of(node.work));
      line(fmt::format("    {} [label={}, fillcolor=\"{}\"{}];", name(node.id), quote(label),
                       colour_of(node.axes),
                       node.is_product ? ", penwidth=2.5"
                       : node.is_leaf  ? ", shape=ellipse"
                                       : ""));
      for (NodeId in : traced.in) line(fmt::format("    {} -> {};", name(in), name(node.id)));
    }
    for (size_t o = 0; o < stage.graph.outputs.size(); ++o) {
      const GraphOutput& output = stage.graph.outputs[o];
      line(fmt::format("    s{}_out{} [label={}, shape=plaintext, style=\"\", fontsize=12];", index,
                       o, quote(output.name)));
      line(fmt::format("    {} -> s{}_out{};", name(output.node), index, o));
    }
    line("  }");
  }

  void legend() {
    line("  subgraph cluster_legend {");
    line("    label=\"computed once per\"; color=\"#999999\";");
    std::string previous;
    for (const auto& [axes, unused] : used_) {
      const std::string name = fmt::format("legend{}", LessOften::rank(axes));
      line(fmt::format("    {} [label={}, fillcolor=\"{}\"];", name, quote(unit_of(axes)),
                       colour_of(axes)));
      if (!previous.empty()) line(fmt::format("    {} -> {} [style=invis];", previous, name));
      previous = name;
    }
    line("  }");
  }

  const GraphReport& report_;
  FlopsByAxes used_;
  std::string text_;
};

}  // namespace

std::string to_dot(const GraphReport& report) { return DotReport(report).str(); }

}  // namespace scry::cli
