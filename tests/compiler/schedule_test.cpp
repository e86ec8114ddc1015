// What a schedule promises: values are computed after what they read, and a row alone is computed
// as among others, bit by bit.
#include "compiler/schedule.h"

#include <cmath>
#include <numeric>
#include <set>

#include "compiler/adjoint.h"
#include "compiler/passes.h"
#include "compiler/stages.h"
#include "tests/catch.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_values.h"
#include "tests/support/run_kernel.h"
#include "tests/support/small_models.h"

using namespace scry;
using namespace scry::test;

namespace {

// -- Order
// ------------------------------------------------------------------------------------------

/// Follows the regions and groups in order, and complains where a buffer is read before it is
/// complete.
class OrderChecker {
 public:
  OrderChecker(const Graph& graph, const Schedule& schedule)
      : graph_(graph), schedule_(schedule), when_(graph.nodes.size()) {}

  void run() {
    for (size_t r = 0; r < schedule_.regions.size(); ++r) {
      const Region& region = schedule_.regions[r];
      if (region.product >= 0) {
        for (NodeId in : graph_[region.product].in)
          check_read(base_of_view(graph_, in), r, 0, region.axes);
        complete(region.product, r, 0);
        continue;
      }
      for (size_t g = 0; g < region.groups.size(); ++g) {
        const Group& group = region.groups[g];
        for (NodeId id : group.nodes) {
          const bool is_copy =
              group.kind == Group::Kind::kStore && schedule_.storage[index(id)] == Storage::kBuffer;
          if (is_copy) check_read(id, r, g, region.axes);
          if (!is_copy) check_operands(id, r, g, region.axes);
          if (group.kind != Group::Kind::kStore) complete(id, r, g);
        }
      }
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (schedule_.storage[index(id)] == Storage::kBuffer) CHECK(when_[index(id)].times == 1);
    }
  }

 private:
  struct When {
    int times = 0;
    size_t region = 0, group = 0;
  };
  static size_t index(NodeId id) { return static_cast<size_t>(id); }
  void complete(NodeId id, size_t region, size_t group) {
    when_[index(id)] = {when_[index(id)].times + 1, region, group};
  }
  void check_operands(NodeId id, size_t region, size_t group, Axes axes) const {
    for (NodeId in : graph_[id].in) check_read(in, region, group, axes);
  }
  void check_read(NodeId id, size_t region, size_t group, Axes axes) const {
    if (schedule_.storage[index(id)] == Storage::kLeaf) return;
    if (schedule_.storage[index(id)] == Storage::kInline)
      return check_operands(id, region, group, axes);
    const When& made = when_[index(id)];
    INFO("reading " << to_string(graph_, id) << " in region " << region << ", group " << group);
    REQUIRE(made.times == 1);
    if (made.region < region) return;
    // In the same loop over the axes: the value must be that of this very index, and complete.
    CHECK(made.group <= group);
    CHECK(graph_[id].axes == axes);
    CHECK(graph_[id].op != Op::kSumAxes);
    CHECK(graph_[id].op != Op::kScatter);
  }

  const Graph& graph_;
  const Schedule& schedule_;
  std::vector<When> when_;
};

// -- Rows
// -------------------------------------------------------------------------------------------

constexpr int kRows = 37, kTags = 3;

/// A kernel over prefixes, or (`of_sequences`) over sequences. Both are called rows here.
struct RowKernel {
  KernelPlan plan;
  bool of_sequences;
  Values inputs;  ///< of all rows, with seeds

  bool is_rows(const Slot& slot) const {
    return of_sequences ? slot.axes.has_sequence() : slot.axes.has_prefix();
  }
  Extent extent(const std::vector<int>& rows) const {
    const int n = static_cast<int>(rows.size());
    if (of_sequences) return {0, 0, n, kTags, {}, {}, std::vector<int>(rows.size(), 4)};
    Extent result{n, 4, 3, kTags, {}, {0, 1, 2, 1}, {4, 2, 3}};
    for (int row : rows) result.position_of_row.push_back(row % 4);
    return result;
  }
  /// Of values of all rows, those of the given ones.
  Values pick(const Values& values, const std::vector<int>& rows) const {
    Values picked = values;
    for (const Slot& slot : plan.slots) {
      if (!is_rows(slot) || !values.contains(slot.name)) continue;
      const std::vector<double>& all = values.at(slot.name);
      const size_t block = all.size() / kRows;
      std::vector<double>& some = picked.at(slot.name);
      some.clear();
      for (int row : rows) {
        const auto from =
            all.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(row) * block);
        some.insert(some.end(), from, from + static_cast<std::ptrdiff_t>(block));
      }
    }
    return picked;
  }
  /// Without sums over rows.
  Values only_rows(Values values) const {
    for (const Slot& slot : plan.slots) {
      if (!is_rows(slot)) values.erase(slot.name);
    }
    return values;
  }
};

std::vector<int> first_rows(int n) {
  std::vector<int> rows(static_cast<size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

/// The stages that have rows, and their gradients.
void add_kernels(const Model& model, const Proposal* proposal, std::vector<RowKernel>& kernels) {
  const StageGraphs stages = make_stages(trace(model, proposal), true, true);
  for (const StageGraph& stage : stages.stages) {
    // Nothing of these, or of their gradients, is a row's.
    if (is_prepare(stage.name) || stage.name == "end") continue;
    const std::string prefix = fmt::format("{}.", kernels.size());
    const bool of_rows = stage.name == "score" || stage.name == "score_tag" ||
                         stage.name == "advance" || stage.name == "extend" ||
                         stage.name == "compat";
    RowKernel kernel{plan_kernel(prefix + stage.name, stage.graph), !of_rows, {}};
    const Extent all = kernel.extent(first_rows(kRows));
    kernel.inputs =
        with_seeds(stage.graph, all, random_inputs(stage.graph, all, -1, 1, kernels.size()), 1);
    kernels.push_back(kernel);
    for (const GradientRequest& request : stage.gradients) {
      if (request.name == "compat.gradient") continue;  // nothing of it is a row's
      RowKernel gradient{plan_kernel(prefix + request.name, request.graph), !of_rows,
                         kernel.inputs};
      gradient.inputs.merge(random_inputs(request.graph, all, -1, 1, 2));  // tables of its own
      if (!request.graph.outputs.empty()) kernels.push_back(gradient);
      if (!has_enzyme()) continue;
      gradient.plan = plan_enzyme_gradient(prefix + request.name + ".enzyme", stage.graph,
                                           request.seeds, request.wrt);
      if (!request.graph.outputs.empty()) kernels.push_back(gradient);
    }
  }
}

}  // namespace

TEST_CASE("every buffer is complete before it is read", "[schedule][random]") {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Graph graph = optimize(random_graph(seed, {.num_ops = 20, .of_model = true}));
    const std::vector<std::string> seeds = real_outputs(graph), wrt = real_inputs(graph);
    for (const Graph& g : {graph, optimize(adjoint(graph, seeds, wrt))}) {
      for (const bool keep_for_reverse : {false, true}) {
        INFO(to_string(g));
        OrderChecker(g, make_schedule(g, keep_for_reverse)).run();
      }
    }
  }
}

TEST_CASE("every input and every output has a slot of its own", "[schedule][random]") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = random_graph(seed);
    const Schedule schedule = make_schedule(graph, false);
    std::set<std::string> names;
    for (const Slot& slot : schedule.slots) CHECK(names.insert(slot.name).second);
    for (const Node& node : graph.nodes) {
      if (node.op == Op::kInput || node.op == Op::kParam) CHECK(names.contains(node.attr.name));
    }
    for (const GraphOutput& output : graph.outputs) CHECK(names.contains(output.name));
  }
}

TEST_CASE("candidates of a value that is the same for every tag are copies of it", "[schedule]") {
  std::vector<KernelPlan> plans;
  std::vector<Graph> graphs;
  for (const Axes axes :
       {Axes::none(), Axes::sequence(), Axes::prefix(), kSequenceTag, kPrefixTag}) {
    GraphBuilder b;
    const NodeId all =
        b.add(Op::kCandidates, {b.add(Op::kTanh, {b.real("a", {2, 2}, axes)})}, {.i = kTags});
    b.output("product", b.add(Op::kMatMul, {all, b.param("w", {4, 5})}));
    b.output("factor", b.add(Op::kMatMul, {b.param("v", {5, kTags}), all}));
    b.output("itself", all);
    plans.push_back(plan_kernel(kernel_name(graphs.size()), b.graph));
    graphs.push_back(b.graph);
  }
  const Compiled compiled(plans, Precision::kDouble, kTags);
  for (size_t i = 0; i < graphs.size(); ++i) {
    INFO(to_string(graphs[i]));
    const Values inputs = random_inputs(graphs[i], kSmallExtent, -1, 1, i);
    CHECK(difference(compiled.run(kernel_name(i), kSmallExtent, inputs),
                     evaluate(graphs[i], kSmallExtent, inputs)) < 1e-13);
  }
}

TEST_CASE("a row is computed as if it were alone, bit by bit", "[schedule]") {
  std::vector<RowKernel> kernels;
  const SmallLookahead lookahead(small_task(), 13, 11);
  add_kernels(SmallTagger(small_task(), 13), &lookahead, kernels);
  add_kernels(EncoderTagger(small_task(), 7), nullptr, kernels);
  std::vector<KernelPlan> plans;
  for (const RowKernel& kernel : kernels) plans.push_back(kernel.plan);
  std::vector<int> reversed = first_rows(kRows), mixed;
  std::reverse(reversed.begin(), reversed.end());
  for (int k = 0; k < 50; ++k) mixed.push_back(k * 11 % kRows);  // some of them twice
  std::vector<std::vector<int>> batches{reversed, mixed, first_rows(16), {5, 5, 5}};
  for (int row = 0; row < kRows; ++row) batches.push_back({row});
  for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
    const Compiled compiled(plans, precision, kTags);
    int num_compared = 0;
    for (const RowKernel& kernel : kernels) {
      INFO(kernel.plan.name << (precision == Precision::kDouble ? " in double" : " in float"));
      const std::string& name = kernel.plan.name;
      const Values all =
          kernel.only_rows(compiled.run(name, kernel.extent(first_rows(kRows)), kernel.inputs));
      if (all.empty()) continue;
      ++num_compared;
      for (const std::vector<int>& rows : batches) {
        const Values some =
            compiled.run(name, kernel.extent(rows), kernel.pick(kernel.inputs, rows));
        CHECK(kernel.only_rows(some) == kernel.pick(all, rows));
      }
    }
    CHECK(num_compared >= 10);
  }
}
