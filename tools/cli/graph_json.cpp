#include <nlohmann/json.hpp>

#include "tools/cli/graph_report.h"

namespace scry::cli {
namespace {

using Json = nlohmann::ordered_json;

Json shape_json(const Shape& shape) {
  Json dims = Json::array();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    dims.push_back(shape[axis] == kLength ? Json("T") : Json(shape[axis]));
  }
  return dims;
}

/// A number, or the coefficients of 1, T and T² where it depends on T.
Json flops_json(const Flops& flops) {
  if (flops.by_power[1] == 0 && flops.by_power[2] == 0) return flops.by_power[0];
  return flops.by_power;
}

Json node_json(const Graph& graph, const NodeReport& report) {
  const Node& node = graph[report.id];
  Json json{{"id", report.id},
            {"op", info(node.op).name},
            {"in", node.in},
            {"operation", report.operation}};
  if (node.op == Op::kInput || node.op == Op::kParam) json["name"] = node.attr.name;
  if (node.type.is_int()) {
    json["range"] = {node.type.lo, node.type.hi};
  } else {
    json["shape"] = shape_json(node.type.shape);
  }
  json["axes"] = to_string(node.axes);
  if (report.work != report.axes) json["work_axes"] = to_string(report.work);
  json["flops"] = flops_json(report.flops);
  if (!report.parameters.empty()) json["parameters"] = report.parameters;
  return json;
}

}  // namespace

std::string to_json(const GraphReport& report) {
  Json stages = Json::array();
  for (const StageReport& stage : report.stages) {
    Json nodes = Json::array(), outputs = Json::array(), flops = Json::object();
    for (const NodeReport& node : stage.nodes) nodes.push_back(node_json(stage.graph, node));
    for (const GraphOutput& output : stage.graph.outputs) {
      outputs.push_back(
          {{"name", output.name}, {"node", output.node}, {"axes", to_string(output.axes)}});
    }
    for (const auto& [axes, sum] : stage.flops) flops[to_string(axes)] = flops_json(sum);
    stages.push_back(
        {{"name", stage.name},
         {"nodes", nodes},
         {"outputs", outputs},
         {"flops", flops},
         {"flops_per_particle_step", flops_json(per_particle_step(stage.flops, report.num_tags))}});
  }
  Json settings = Json::array();
  for (const Setting& setting : report.settings) {
    settings.push_back({{"name", setting.name},
                        {"value", setting.value},
                        {"default", setting.fallback},
                        {"help", setting.help}});
  }
  const Json json{{"settings", settings},
                  {"num_inputs", report.num_inputs},
                  {"num_tags", report.num_tags},
                  {"num_parameters", report.num_parameters},
                  {"stages", stages}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace scry::cli
