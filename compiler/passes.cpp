#include "compiler/passes.h"

#include <array>

#include "compiler/pass_dead.h"
#include "compiler/pass_fold.h"
#include "compiler/pass_share.h"
#include "compiler/pass_simplify.h"
#include "compiler/pass_split_concat.h"
#include "compiler/pass_tables.h"

namespace scry {
namespace {

struct Pass {
  const char* name;
  Graph (*run)(const Graph&);
};
constexpr std::array kPasses{
    Pass{"fold_constants", fold_constants},
    Pass{"simplify", simplify},
    Pass{"split_concat", split_concat},
    Pass{"lift_lookups", [](const Graph& graph) { return lift_lookups(graph); }},
    Pass{"share", share},
    Pass{"remove_dead", remove_dead},
};
/// Each round only shrinks or lifts; two or three settle every model seen. An index moves through
/// one elementwise operation a round.
constexpr int kMaxRounds = 64;

bool same(const Graph& a, const Graph& b) {
  if (a.nodes.size() != b.nodes.size()) return false;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const Node &x = a.nodes[i], &y = b.nodes[i];
    if (x.op != y.op || x.in != y.in || x.type != y.type) return false;
  }
  return true;
}

}  // namespace

Graph optimize(Graph graph, const PassObserver& observe) {
  for (int round = 0; round < kMaxRounds; ++round) {
    const Graph before = graph;
    for (const Pass& pass : kPasses) {
      graph = pass.run(graph);
      verify(graph);
      if (observe) observe(pass.name, graph);
    }
    if (same(before, graph)) break;
  }
  return graph;
}

}  // namespace scry
