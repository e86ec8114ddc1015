// A kernel to be built: its graph, its loops, the buffers it takes, and how it is differentiated.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "compiler/schedule.h"

namespace scry {

/// How the names of slots begin whose products Enzyme's reverse pass need not compute first: they
/// are given, or nothing reads them.
inline constexpr const char *kKept = "kept.", *kUnread = "unread.";

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

/// The graph itself as a kernel: a stage, or a gradient made by adjoint(). Outputs that it `keeps`
/// are written if they are wanted.
KernelPlan plan_kernel(std::string name, Graph graph, std::span<const std::string> keeps = {});

/// The gradient of `graph` by Enzyme, with the slots that adjoint()'s graph would have: seeds
/// `d.OUT` and gradients `d.IN`. Forward values are computed anew in scratch buffers, but for
/// matrix products that are `given`; of the seeds' outputs those that it `keeps` are written.
KernelPlan plan_enzyme_gradient(std::string name, Graph graph, std::span<const std::string> seeds,
                                std::span<const std::string> wrt,
                                std::span<const std::string> keeps = {},
                                std::span<const std::string> given = {});

}  // namespace scry
