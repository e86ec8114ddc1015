#include "compiler/pass_fold.h"

#include <algorithm>

#include "compiler/reference.h"
#include "compiler/rewrite.h"

namespace scry {
namespace {

/// Larger results are cheaper to compute than to carry around.
constexpr int64_t kMaxFolded = 4096;

bool can_fold(const Graph& graph, const Node& node) {
  return !node.in.empty() && node.axes.empty() && node.type.shape.is_static() &&
         node.type.shape.size() <= kMaxFolded && info(node.op).cls != OpClass::kAxes &&
         std::all_of(node.in.begin(), node.in.end(),
                     [&](NodeId in) { return graph[in].op == Op::kConst; });
}

}  // namespace

Graph fold_constants(const Graph& graph) {
  return rewrite(graph, [](Graph& out, const Node& node) -> NodeId {
    if (!can_fold(out, node)) return -1;
    Graph single;
    Node copy = node;
    for (NodeId& in : copy.in) {
      single.nodes.push_back(out[in]);
      in = single.size() - 1;
    }
    single.nodes.push_back(copy);
    single.outputs = {{"value", single.size() - 1}};
    std::vector<double> value = evaluate(single, {}, {}).at("value");
    if (node.type.is_int()) return out.add_integer(static_cast<int64_t>(value[0]), node.where);
    return out.add_constant(node.type.shape, std::move(value), node.where);
  });
}

}  // namespace scry
