// Expressions of the DSL as graphs, flattened as trace() does.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr.h"
#include "dsl/graph.h"

namespace scry::test {

inline Expr real_input(const std::string& name, Shape shape, Axes axes) {
  return Expr(leaf(Op::kInput, Type::real(shape), {.name = name, .axes = axes}, {}));
}
inline Sym int_input(const std::string& name, int size, Axes axes) {
  return Sym(leaf(Op::kInput, Type::integer(0, size), {.name = name, .axes = axes}, {}));
}

/// A graph that returns these expressions, each over `axes` and its own.
inline Graph graph_of(const std::vector<std::pair<std::string, Expr>>& outputs, Axes axes = {}) {
  Graph graph;
  std::map<const Traced*, NodeId> ids;
  const auto visit = [&](const auto& self, const Traced& traced) -> NodeId {
    if (const auto found = ids.find(&traced); found != ids.end()) return found->second;
    std::vector<NodeId> in;
    for (const TracedPtr& operand : traced.in) in.push_back(self(self, *operand));
    const bool is_leaf = info(traced.op).cls == OpClass::kLeaf;
    const NodeId id = is_leaf ? graph.add_leaf(traced.op, traced.type, traced.attr.axes,
                                               traced.attr, traced.where)
                              : graph.add(traced.op, in, traced.attr, traced.where);
    return ids[&traced] = id;
  };
  for (const auto& [name, value] : outputs) {
    const NodeId id = visit(visit, *value.node());
    graph.outputs.push_back({name, id, graph[id].axes | axes});
  }
  verify(graph);
  return graph;
}

}  // namespace scry::test
