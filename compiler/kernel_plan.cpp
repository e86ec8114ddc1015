#include "compiler/kernel_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/adjoint.h"
#include "compiler/pass_dead.h"

namespace scry {
namespace {

bool is_output(const Schedule& schedule, NodeId id) {
  const int slot = schedule.slot[static_cast<size_t>(id)];
  return std::find(schedule.output_slot.begin(), schedule.output_slot.end(), slot) !=
         schedule.output_slot.end();
}

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

/// Whether a derivative of this operation reads no operand's value.
bool is_linear(Op op) {
  return op == Op::kAdd || op == Op::kSub || op == Op::kReshape || op == Op::kSlice ||
         op == Op::kConcat || op == Op::kTranspose;
}

/// Which nodes only go, by sums and other linear operations, into outputs that nobody keeps:
/// nothing in the reverse pass reads them.
std::vector<bool> find_unread(const Graph& graph, std::span<const std::string> keeps) {
  std::vector<bool> unread(graph.nodes.size(), true);
  for (const GraphOutput& output : graph.outputs) {
    if (contains(keeps, output.name)) unread[static_cast<size_t>(output.node)] = false;
  }
  for (size_t id = unread.size(); id-- > 0;) {
    const Node& node = graph.nodes[id];
    if (unread[id] && is_linear(node.op)) continue;
    for (NodeId in : node.in) unread[static_cast<size_t>(in)] = false;
  }
  return unread;
}

}  // namespace

KernelPlan plan_kernel(std::string name, Graph graph, std::span<const std::string> keeps) {
  KernelPlan plan{std::move(name), std::move(graph), {}, {}, false, {}, {}, {}};
  plan.schedule = make_schedule(plan.graph, false);
  plan.slots = plan.schedule.slots;
  for (Slot& slot : plan.slots) {
    if (slot.role == SlotRole::kOutput && contains(keeps, slot.name)) slot.role = SlotRole::kKept;
  }
  return plan;
}

KernelPlan plan_enzyme_gradient(std::string name, Graph graph, std::span<const std::string> seeds,
                                std::span<const std::string> wrt,
                                std::span<const std::string> keeps,
                                std::span<const std::string> given) {
  std::erase_if(graph.outputs, [&](const GraphOutput& output) {
    return !contains(seeds, output.name) && !contains(given, output.name);
  });
  KernelPlan plan{std::move(name), remove_dead(graph), {}, {}, true, {}, {}, {}};
  std::vector<GraphOutput> known;
  std::copy_if(plan.graph.outputs.begin(), plan.graph.outputs.end(), std::back_inserter(known),
               [&](const GraphOutput& output) { return contains(given, output.name); });
  std::erase_if(plan.graph.outputs,
                [&](const GraphOutput& output) { return contains(given, output.name); });
  plan.schedule = make_schedule(plan.graph, true);
  // Enzyme is to see these products too; that they need not be computed, their slots' names say.
  const auto rename = [&](size_t node, const std::string& slot) {
    plan.schedule.slots[static_cast<size_t>(plan.schedule.slot[node])].name = slot;
  };
  for (const GraphOutput& output : known) rename(static_cast<size_t>(output.node), output.name);
  const std::vector<bool> unread = find_unread(plan.graph, keeps);
  for (size_t id = 0; id < unread.size(); ++id) {
    if (unread[id] && plan.graph.nodes[id].op == Op::kMatMul &&
        !is_output(plan.schedule, static_cast<NodeId>(id))) {
      rename(id, fmt::format("{}{}", kUnread, id));
    }
  }
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
    if (slot.role == SlotRole::kOutput) {
      const bool is_kept = contains(keeps, slot.name);
      plan.slots[i].role = is_kept ? SlotRole::kKept : SlotRole::kWorkspace;
      if (is_kept) plan.unneeded[i] = false;
    }
    if (contains(given, slot.name)) plan.slots[i].role = SlotRole::kInput;
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
