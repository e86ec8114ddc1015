#include "compiler/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/op_table.h"

namespace scry {
namespace {

/// A division or more: what Enzyme's reverse pass would rather read than compute again.
constexpr double kWorthKeeping = 4;
/// What is computed for more indices than it has: inline, if it is cheaper than this.
constexpr double kWorthSharing = 3;

class Scheduler {
 public:
  Scheduler(const Graph& graph, bool keep) : graph_(graph), keep_(keep) {}

  Schedule run() {
    const size_t n = graph_.nodes.size();
    result_.storage.assign(n, Storage::kInline);
    result_.slot.assign(n, -1);
    result_.accumulates.assign(n, false);
    take_outputs_apart();
    count_uses();
    choose_storage();
    assign_slots();
    region_of_.assign(n, -1);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (result_.storage[at(id)] == Storage::kBuffer) place(id);
    }
    place_outputs();
    return std::move(result_);
  }

 private:
  static size_t at(NodeId id) { return static_cast<size_t>(id); }
  const Node& node(NodeId id) const { return graph_[id]; }

  /// out += a + b is two accumulated outputs, so that neither sum needs memory of its own.
  void take_outputs_apart() {
    std::vector<int> uses(graph_.nodes.size(), 0);
    for (const Node& n : graph_.nodes) {
      for (NodeId in : n.in) ++uses[at(in)];
    }
    for (const GraphOutput& output : graph_.outputs) ++uses[at(output.node)];
    const auto add = [&](const auto& self, GraphOutput output) -> void {
      const Node& n = node(output.node);
      const auto fits = [&](NodeId in) {
        return node(in).type == n.type && node(in).axes == n.axes;
      };
      if (output.accumulate && n.op == Op::kAdd && uses[at(output.node)] == 1 && fits(n.in[0]) &&
          fits(n.in[1])) {
        for (NodeId in : n.in) {
          output.node = in;
          self(self, output);
        }
      } else {
        result_.outputs.push_back(output);
      }
    };
    for (const GraphOutput& output : graph_.outputs) add(add, output);
  }

  /// Uses by live nodes only: taking outputs apart leaves their sums dead.
  void count_uses() {
    uses_.assign(graph_.nodes.size(), 0);
    widened_.assign(graph_.nodes.size(), false);
    for (const GraphOutput& output : result_.outputs) ++uses_[at(output.node)];
    for (NodeId id = graph_.size() - 1; id >= 0; --id) {
      if (uses_[at(id)] == 0) continue;
      const Node& n = node(id);
      for (NodeId in : n.in) {
        ++uses_[at(in)];
        const bool more_axes = n.axes != node(in).axes && !sums_axes(n.op);
        const bool broadcast =
            row(n.op).reach == Reach::kElement && n.type.shape != node(in).type.shape;
        if (more_axes || broadcast) widened_[at(in)] = true;
      }
    }
  }

  void require(NodeId id) {
    id = base_of_view(graph_, id);
    if (result_.storage[at(id)] != Storage::kLeaf) required_[at(id)] = true;
  }

  void choose_storage() {
    required_.assign(graph_.nodes.size(), false);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (row(node(id).op).form == Form::kGiven) result_.storage[at(id)] = Storage::kLeaf;
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (uses_[at(id)] == 0) continue;
      const Node& n = node(id);
      if (!is_product(n.op) && row(n.op).reach != Reach::kTags) continue;
      for (NodeId in : n.in) require(in);
    }
    for (const GraphOutput& output : result_.outputs) {
      if (is_direct(output) && !output.accumulate) require(output.node);
    }
    std::vector<double> cost(graph_.nodes.size(), 0);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& n = node(id);
      if (result_.storage[at(id)] == Storage::kLeaf || uses_[at(id)] == 0) continue;
      const OpRow& op = row(n.op);
      cost[at(id)] = op.cost;
      for (NodeId in : n.in) cost[at(id)] += cost[at(in)];
      if (n.type.is_int() && !required_[at(id)]) continue;
      const bool always = op.form != Form::kElement ||
                          (keep_ && (n.op == Op::kStopGradient || op.cost >= kWorthKeeping));
      const bool is_wide = widened_[at(id)] && cost[at(id)] >= kWorthSharing;
      const bool worth = op.cost > 0 && (uses_[at(id)] > 1 || is_wide);
      if (always || worth || required_[at(id)]) {
        result_.storage[at(id)] = Storage::kBuffer;
        cost[at(id)] = 0;
      }
    }
  }

  /// The output's buffer can be the node's own.
  bool is_direct(const GraphOutput& output) const {
    const Node& n = node(output.node);
    if (result_.storage[at(output.node)] == Storage::kLeaf || n.axes != output.axes) return false;
    if (base_of_view(graph_, output.node) != output.node) return false;
    return !output.accumulate || (sums_axes(n.op) && uses_[at(output.node)] == 1);
  }

  void assign_slots() {
    std::map<std::string, int> inputs;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& n = node(id);
      if (n.op != Op::kInput && n.op != Op::kParam) continue;
      const auto [found, is_new] =
          inputs.try_emplace(n.attr.name, static_cast<int>(result_.slots.size()));
      if (is_new)
        add_slot(n.attr.name, n.attr.name.starts_with("d.") ? SlotRole::kSeed : SlotRole::kInput,
                 n.type, n.axes);
      result_.slot[at(id)] = found->second;
    }
    add_last(inputs);
    std::map<std::string, int> outputs;
    for (const GraphOutput& output : result_.outputs) {
      const auto [found, is_new] =
          outputs.try_emplace(output.name, static_cast<int>(result_.slots.size()));
      if (is_new) {
        add_slot(output.name, output.accumulate ? SlotRole::kGradient : SlotRole::kOutput,
                 node(output.node).type, output.axes);
      }
      result_.output_slot.push_back(found->second);
      int& own = result_.slot[at(output.node)];
      if (own < 0 && is_direct(output)) {
        own = found->second;
        result_.accumulates[at(output.node)] = output.accumulate;
      }
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& n = node(id);
      if (result_.storage[at(id)] != Storage::kBuffer || result_.slot[at(id)] >= 0) continue;
      result_.slot[at(id)] = static_cast<int>(result_.slots.size());
      // Matrix products that sum over axes start from zero too.
      add_slot(fmt::format("%{}", id), sums_axes(n.op) ? SlotRole::kZeroed : SlotRole::kWorkspace,
               n.type, n.axes);
      result_.accumulates[at(id)] = sums_axes(n.op);
    }
  }
  void add_slot(std::string name, SlotRole role, const Type& type, Axes axes) {
    result_.slots.push_back({std::move(name), role, type.kind, axes, type.shape});
  }
  void add_last(std::map<std::string, int>& inputs) {
    const bool has_length = std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                                        [](const Node& n) { return !n.type.shape.is_static(); });
    if (const auto found = inputs.find("last"); found != inputs.end()) {
      result_.last_slot = found->second;
    } else if (has_length) {
      result_.last_slot = static_cast<int>(result_.slots.size());
      add_slot("last", SlotRole::kInput, Type::integer(0, kMaxLength), Axes::sequence());
    }
  }

  /// A buffer that is read, and what of it.
  struct Read {
    NodeId node;
    Reach reach;
  };

  /// The buffers that computing `id` reads, through values that are computed inline.
  void collect_reads(NodeId id, Reach reach, std::vector<Read>& reads) const {
    const Node& n = node(id);
    for (NodeId in : n.in) {
      Reach further = std::max(reach, row(n.op).reach);
      if (node(in).type.shape != n.type.shape) further = std::max(further, Reach::kIndex);
      if (result_.storage[at(in)] == Storage::kBuffer) {
        reads.push_back({in, further});
      } else if (result_.storage[at(in)] == Storage::kInline) {
        collect_reads(in, further, reads);
      }
    }
  }

  /// Puts `group` (computing `id`) into the first region that comes late enough.
  int put(Axes axes, Group group, const std::vector<Read>& reads) {
    int earliest = 0;
    for (const auto& [read, reach] : reads) {
      const int region = region_of_[at(read)];
      // Enzyme keeps a copy of what it reads in a loop that also writes it, for fear of later
      // iterations.
      const bool fuses = !keep_ && result_.regions[at(region)].product < 0 &&
                         result_.regions[at(region)].axes == axes && node(read).axes == axes &&
                         !sums_axes(node(read).op) && reach != Reach::kTags;
      earliest = std::max(earliest, fuses ? region : region + 1);
    }
    for (int r = earliest; r < static_cast<int>(result_.regions.size()); ++r) {
      Region& region = result_.regions[at(r)];
      if (region.product >= 0 || region.axes != axes) continue;
      join(region, std::move(group), reads);
      return r;
    }
    result_.regions.push_back({axes, {std::move(group)}, -1});
    return static_cast<int>(result_.regions.size()) - 1;
  }

  /// Elementwise values of one shape share a loop, unless one reads another's other elements.
  void join(Region& region, Group group, const std::vector<Read>& reads) {
    Group& last = region.groups.back();
    const auto conflicts = [&](const Read& read) {
      return read.reach != Reach::kElement &&
             std::find(last.nodes.begin(), last.nodes.end(), read.node) != last.nodes.end();
    };
    if (group.kind == Group::Kind::kMap && last.kind == Group::Kind::kMap &&
        last.shape == group.shape && std::none_of(reads.begin(), reads.end(), conflicts)) {
      last.nodes.push_back(group.nodes[0]);
    } else {
      region.groups.push_back(std::move(group));
    }
  }

  void place(NodeId id) {
    const Node& n = node(id);
    if (is_product(n.op)) {  // at the end, so after all that it reads
      result_.regions.push_back({n.axes, {}, id});
      region_of_[at(id)] = static_cast<int>(result_.regions.size()) - 1;
      return;
    }
    std::vector<Read> reads;
    collect_reads(id, Reach::kElement, reads);
    const bool is_block = row(n.op).form == Form::kBlock;
    region_of_[at(id)] =
        put(work_axes(graph_, id),
            {is_block ? Group::Kind::kBlock : Group::Kind::kMap, n.type.shape, {id}}, reads);
  }

  void place_outputs() {
    for (size_t o = 0; o < result_.outputs.size(); ++o) {
      const GraphOutput& output = result_.outputs[o];
      if (result_.slot[at(output.node)] == result_.output_slot[o] &&
          result_.storage[at(output.node)] == Storage::kBuffer) {
        continue;
      }
      std::vector<Read> reads;
      if (result_.storage[at(output.node)] == Storage::kBuffer) {
        reads.push_back({output.node, Reach::kElement});
      } else if (result_.storage[at(output.node)] == Storage::kInline) {
        collect_reads(output.node, Reach::kElement, reads);
      }
      put(output.axes,
          {Group::Kind::kStore, node(output.node).type.shape, {output.node}, static_cast<int>(o)},
          reads);
    }
  }

  const Graph& graph_;
  bool keep_;
  Schedule result_;
  std::vector<int> uses_;
  std::vector<bool> widened_, required_;
  std::vector<int> region_of_;
};

}  // namespace

NodeId base_of_view(const Graph& graph, NodeId id) {
  const auto is_view = [&](const Node& node) {
    const auto rule = row(node.op).is_view;
    return rule != nullptr && rule(graph, node);
  };
  while (is_view(graph[id])) id = graph[id].in[0];
  return id;
}

Schedule make_schedule(const Graph& graph, bool keep_for_reverse) {
  return Scheduler(graph, keep_for_reverse).run();
}

}  // namespace scry
