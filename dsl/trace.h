// Model and Proposal → graphs, one per stage of the interpreter.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/model.h"

namespace scry {

/// Whose parameter it is: θ of the model or φ of the proposal.
enum class ParamGroup : uint8_t { kModel, kProposal };

struct TracedParam {
  std::string name;  ///< "model.gru.weight_hh", as in checkpoints
  ParamGroup group;
  std::shared_ptr<const ParamInfo> info;
  bool is_automatic = false;  ///< of the default Proposal::to_go: no model file wrote it
};

/// One recurrence of Model::encode. The graph maps x, `before.i` and the outputs `scan.k.i` of
/// earlier recurrences at a position to `after.i`.
struct ScanGraph {
  Direction direction;
  std::vector<int> sizes;
  Graph graph;
};

/// All that a model file says. Inputs of the graphs are named x, y, t (the position), last (T - 1),
/// s.NAME, later.NAME, enc.NAME; a kParam node's attr.i is an index into `params`.
struct ModelGraphs {
  Task task;
  std::vector<TracedParam> params;
  StateSpec state, later;
  std::vector<ScanGraph> scans;
  std::vector<std::pair<std::string, int>> features;  ///< the encoding: names and sizes
  Graph encode;                                       ///< → enc.NAME at one position
  Graph start;                                        ///< → s.NAME (s₀)
  Graph step;  ///< → score, next.NAME, over prefix × tag (eq:G, eq:s)
  bool has_proposal = false;
  Graph end;     ///< → later.NAME (s̄_T)
  Graph back;    ///< → next.NAME, to_go (eq:sbar, eq:Hhat)
  Graph root;    ///< → compat of s₀ and s̄_0 (C_0); empty if c asks for candidates
  Graph extend;  ///< → score, next.NAME, compat (eq:c)
  Graph compat;  ///< next.NAME of every tag → compat: the same, of states that are known
};

/// Runs the model file's functions once, symbolically. Throws ModelError naming the user's line.
ModelGraphs trace(const Model& model, const Proposal* proposal = nullptr);

}  // namespace scry
