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
  std::vector<std::string> keeps = {};  ///< outputs that its kernel writes too, if wanted
  std::vector<std::string> given = {};  ///< outputs that it takes as inputs, and does not compute
  Graph graph = {};  ///< the built-in adjoint; empty if Enzyme will differentiate
};

struct StageGraph {
  std::string name;
  Graph graph;
  std::vector<GradientRequest> gradients;
  std::vector<std::string> keeps = {};  ///< outputs that are for a gradient, and not always wanted
  bool runs = true;                     ///< false: it is there for its gradients alone
};

struct StageGraphs {
  /// The first is `prepare`, of tables that θ alone decides; then `prepare.proposal`, if there are
  /// others.
  std::vector<StageGraph> stages;
  const StageGraph& find(const std::string& name) const;
};

/// Whether a stage of this name makes tables of parameters.
inline bool is_prepare(const std::string& stage) {
  return stage == "prepare" || stage == "prepare.proposal";
}

/// `gradients`: ask for them; `with_adjoint`: and make their graphs.
StageGraphs make_stages(const ModelGraphs& model, bool gradients, bool with_adjoint,
                        const PassObserver& observe = {});

}  // namespace scry
