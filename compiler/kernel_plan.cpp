#include "compiler/kernel_plan.h"

#include <algorithm>

#include "compiler/adjoint.h"
#include "compiler/pass_dead.h"

namespace scry {
namespace {

bool contains(std::span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Which nodes' values the gradient is computed from: those that the built-in adjoint keeps.
std::vector<bool> find_needed(const Graph& graph, std::span<const std::string> seeds,
                              std::span<const std::string> wrt) {
  std::vector<bool> live = find_live(adjoint(graph, seeds, wrt));
  live.resize(graph.nodes.size());  // forward nodes come first and keep their numbers
  return live;
}

}  // namespace

KernelPlan plan_kernel(std::string name, Graph graph) {
  KernelPlan plan{std::move(name), std::move(graph), {}, {}, false, {}, {}, {}};
  plan.schedule = make_schedule(plan.graph, false);
  plan.slots = plan.schedule.slots;
  return plan;
}

KernelPlan plan_enzyme_gradient(std::string name, Graph graph, std::span<const std::string> seeds,
                                std::span<const std::string> wrt) {
  std::erase_if(graph.outputs,
                [&](const GraphOutput& output) { return !contains(seeds, output.name); });
  KernelPlan plan{std::move(name), remove_dead(graph), {}, {}, true, {}, {}, {}};
  plan.schedule = make_schedule(plan.graph, true);
  plan.active = find_active(plan.graph, seeds, wrt);
  const std::vector<bool>& active = plan.active;
  std::vector<bool> slot_is_active(plan.schedule.slots.size(), false);
  for (size_t id = 0; id < active.size(); ++id) {
    const int slot = plan.schedule.slot[id];
    if (slot >= 0 && active[id]) slot_is_active[static_cast<size_t>(slot)] = true;
  }
  for (size_t o = 0; o < plan.schedule.outputs.size(); ++o) {
    if (active[static_cast<size_t>(plan.schedule.outputs[o].node)]) {
      slot_is_active[static_cast<size_t>(plan.schedule.output_slot[o])] = true;
    }
  }
  const std::vector<bool> needed = find_needed(plan.graph, seeds, wrt);
  plan.unneeded.assign(plan.schedule.slots.size(), true);
  for (size_t id = 0; id < needed.size(); ++id) {
    const int slot = plan.schedule.slot[id];
    if (slot >= 0 && (needed[id] || info(plan.graph.nodes[id].op).cls == OpClass::kLeaf)) {
      plan.unneeded[static_cast<size_t>(slot)] = false;
    }
  }
  plan.slots = plan.schedule.slots;
  for (size_t i = 0; i < plan.schedule.slots.size(); ++i) {
    const Slot slot = plan.schedule.slots[i];
    if (slot.role == SlotRole::kOutput) plan.slots[i].role = SlotRole::kWorkspace;
    plan.shadow.push_back(slot_is_active[i] ? static_cast<int>(plan.slots.size()) : -1);
    if (!slot_is_active[i]) continue;
    const SlotRole role = slot.role == SlotRole::kInput    ? SlotRole::kGradient
                          : slot.role == SlotRole::kOutput ? SlotRole::kSeed
                                                           : SlotRole::kZeroed;
    plan.slots.push_back({"d." + slot.name, role, slot.kind, slot.axes, slot.shape});
  }
  return plan;
}

}  // namespace scry
