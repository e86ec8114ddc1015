// The graphs of a model's stages, optimised, with what is parameters-only moved to `prepare`, and
// what is sequences' or positions' alone to stages of their own.
#pragma once
#include <string>
#include <vector>

#include "compiler/passes.h"
#include "dsl/trace.h"

namespace scry {

/// A gradient to be made of a stage: of the outputs `seeds` for the inputs `wrt`.
struct GradientRequest {
  std::string name;
  std::vector<std::string> seeds, wrt;
  Graph graph;  ///< the built-in adjoint; empty if Enzyme will differentiate
};

struct StageGraph {
  std::string name;
  Graph graph;
  std::vector<GradientRequest> gradients;
  bool runs = true;  ///< false: it is there for its gradients alone
};

struct StageGraphs {
  std::vector<StageGraph> stages;        ///< the first is `prepare`
  std::vector<ParamGroup> table_groups;  ///< per output of prepare: φ if it depends on φ
  const StageGraph& find(const std::string& name) const;
};

/// `gradients`: ask for them; `with_adjoint`: and make their graphs.
StageGraphs make_stages(const ModelGraphs& model, bool gradients, bool with_adjoint,
                        const PassObserver& observe = {});

}  // namespace scry
