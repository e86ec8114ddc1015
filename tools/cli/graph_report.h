// What `scry graph` shows of each stage, before it is set as text, DOT or JSON.
#pragma once
#include <string>
#include <vector>

#include "compiler/stages.h"
#include "dsl/settings.h"
#include "tools/cli/flops.h"
#include "tools/cli/text.h"

namespace scry::cli {

struct NodeReport {
  NodeId id;
  std::string name;       ///< "s.h" for an input, "0.25" for a constant, else "%4"
  std::string operation;  ///< "matmul(s.h, table.2)": operands that are leaves by their names
  std::string shape;
  Axes axes, work;
  Flops flops;  ///< at one index of `work`
  bool is_leaf, is_product;
  std::string sizes;                    ///< of a product: "[32] × [32, 96]"
  std::vector<std::string> parameters;  ///< that a product's weights or a table are made of
  std::vector<std::string> outputs;     ///< the names under which the stage returns it
};

struct StageReport {
  std::string name, purpose;
  Graph graph;
  std::vector<NodeReport> nodes;
  FlopsByAxes flops;
};

struct GraphReport {
  int num_inputs = 0, num_tags = 0;
  int64_t num_parameters = 0;
  std::vector<Setting> settings;    ///< of the model file
  std::vector<StageReport> stages;  ///< the first is `prepare`
};

/// With the adjoint's graphs where the stages have them.
GraphReport make_report(const ModelGraphs& model, const StageGraphs& stages);

// Each in a file of its own.
std::string to_text(const GraphReport& report, const Style& style);
std::string to_dot(const GraphReport& report);
std::string to_json(const GraphReport& report);

}  // namespace scry::cli
