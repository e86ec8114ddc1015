// Which values of a graph get memory, and in which loops they are computed.
#pragma once
#include <vector>

#include "compiler/program.h"
#include "dsl/graph.h"

namespace scry {

enum class Storage : uint8_t {
  kInline,  ///< computed anew wherever it is used
  kLeaf,    ///< an input, parameter or constant
  kBuffer,  ///< has memory of its own
};

/// What one loop nest computes, at each index of its region.
struct Group {
  enum class Kind : uint8_t { kMap, kBlock, kStore } kind;
  Shape shape;
  std::vector<NodeId> nodes;  ///< kMap: several of one shape, each element by element
  int output = -1;            ///< kStore: which output
};

/// A loop over the indices of `axes` around its groups; or one matrix product.
struct Region {
  Axes axes;
  std::vector<Group> groups;
  NodeId product = -1;
};

/// One buffer of the kernel: a slot, and the node or output it belongs to.
struct Schedule {
  std::vector<Storage> storage;      ///< per node
  std::vector<int> slot;             ///< per node: the slot of its buffer, or -1
  std::vector<int> output_slot;      ///< per output
  std::vector<GraphOutput> outputs;  ///< the graph's, with sums of accumulated ones taken apart
  std::vector<Slot> slots;
  std::vector<bool> accumulates;  ///< per node: added to what its buffer holds already
  std::vector<Region> regions;
  int last_slot = -1;  ///< the input `last` (T - 1), where a shape has T
};

/// Promise: every value is computed after what it reads. `keep_for_reverse` gives memory to the
/// values that Enzyme's reverse pass will want to read instead of computing them again.
Schedule make_schedule(const Graph& graph, bool keep_for_reverse);

/// The node whose memory `id` shows in another shape, or `id` itself.
NodeId base_of_view(const Graph& graph, NodeId id);

}  // namespace scry
