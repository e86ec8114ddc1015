// A kernel to be built: its graph, its loops, the buffers it takes, and how it is differentiated.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "compiler/schedule.h"

namespace scry {

struct KernelPlan {
  std::string name;
  Graph graph;
  Schedule schedule;
  std::vector<Slot> slots;  ///< of the finished kernel: the schedule's, then Enzyme's shadows
  bool by_enzyme = false;
  /// With Enzyme: per node, whether a gradient flows through it.
  std::vector<bool> active;
  /// With Enzyme: per slot of the schedule, the slot of its shadow, or -1 if it is constant.
  std::vector<int> shadow;
  /// With Enzyme: per slot of the schedule, whether the gradient can do without its forward value.
  std::vector<bool> unneeded;
};

/// The graph itself as a kernel: a stage, or a gradient made by adjoint().
KernelPlan plan_kernel(std::string name, Graph graph);

/// The gradient of `graph` by Enzyme, with the slots that adjoint()'s graph would have: seeds
/// `d.OUT` and gradients `d.IN`. Forward values are computed anew in scratch buffers.
KernelPlan plan_enzyme_gradient(std::string name, Graph graph, std::span<const std::string> seeds,
                                std::span<const std::string> wrt);

}  // namespace scry
