// Every operation of the table: machine code = reference, adjoint = finite differences,
// Enzyme = adjoint. The loop is over the table; a new operation needs only a line in cases().
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <set>

#include "compiler/adjoint.h"
#include "compiler/op_table.h"
#include "compiler/pass_dead.h"
#include "tests/catch.h"
#include "tests/support/graph_builder.h"
#include "tests/support/random_values.h"
#include "tests/support/run_kernel.h"

using namespace scry;
using namespace scry::test;

namespace {

/// An operation applied to inputs a, b, … (and integers i, k) over axes that make it broadcast.
struct Case {
  std::string name;
  Op op;
  Graph graph;
  double low = -2, high = 2;  ///< the range of the inputs
};

constexpr int kTags = 3;
const Extent& kExtent = kSmallExtent;

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto unary = [&](Op op, double low = -2, double high = 2) {
    GraphBuilder b;
    all.push_back({info(op).name, op,
                   b.finish(b.add(op, {b.real("a", {7}, kPrefixTag)}), kPrefixTag), low, high});
  };
  const auto binary = [&](Op op, double low = -2, double high = 2) {
    {
      GraphBuilder b;  // one operand per prefix, one per sequence and tag
      all.push_back({std::string(info(op).name) + " over axes", op,
                     b.finish(b.add(op, {b.real("a", {7}, Axes::prefix()),
                                         b.real("b", {7}, Axes::sequence() | Axes::tag())}),
                              kPrefixTag),
                     low, high});
    }
    GraphBuilder b;  // [3, 1] with [4], and a parameters-only operand
    all.push_back(
        {std::string(info(op).name) + " broadcast", op,
         b.finish(b.add(op, {b.real("a", {3, 1}, Axes::prefix()), b.real("b", {4}, Axes::none())}),
                  kPrefixTag),
         low, high});
  };
  for (Op op : {Op::kNeg, Op::kExp, Op::kTanh, Op::kSigmoid, Op::kRelu, Op::kSoftplus, Op::kFinite,
                Op::kStopGradient})
    unary(op);
  unary(Op::kLog, 0.1, 3), unary(Op::kSqrt, 0.1, 3);
  for (Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kMin, Op::kMax, Op::kLogDivide}) binary(op);
  binary(Op::kDiv, 0.5, 2), binary(Op::kRatio, 0.5, 2);
  const auto add = [&](Op op, const std::string& name,
                       const std::function<NodeId(GraphBuilder&)>& make) {
    GraphBuilder b;
    const NodeId out = make(b);
    all.push_back({name, op, b.finish(out, kPrefixTag)});
  };
  add(Op::kSelect, "select", [](GraphBuilder& b) {
    return b.add(Op::kSelect, {b.integer("k", 2, Axes::prefix()), b.real("a", {4}, Axes::prefix()),
                               b.real("b", {}, Axes::tag())});
  });
  add(Op::kIfGreater, "if_greater", [](GraphBuilder& b) {
    return b.add(Op::kIfGreater, {b.real("a", {4}, Axes::prefix()), b.real("b", {4}, Axes::tag()),
                                  b.real("c", {4}, kPrefixTag), b.real("d", {}, Axes::sequence())});
  });
  add(Op::kExpand, "expand", [](GraphBuilder& b) {
    return b.add(Op::kExpand, {b.real("a", {3, 1}, Axes::prefix())}, {.shape = {3, 5}});
  });
  const auto integers = [&](Op op) {
    add(op, info(op).name, [&](GraphBuilder& b) {
      const NodeId one =
          b.add(Op::kAdd, {b.integer("k", 3, Axes::tag()), b.integer("k", 3, Axes::tag())});
      NodeId right = b.integer("i", 4, Axes::prefix());
      if (op == Op::kIntDiv || op == Op::kMod) right = b.add(Op::kAdd, {right, b.number(1)});
      return b.add(Op::kMul, {b.add(Op::kToReal, {b.add(op, {one, right})}),
                              b.real("a", {3}, Axes::prefix())});
    });
  };
  for (Op op : {Op::kIntDiv, Op::kMod, Op::kEqual, Op::kLess, Op::kMin, Op::kMax}) integers(op);
  add(Op::kToReal, "to_real", [](GraphBuilder& b) {
    return b.add(Op::kMul, {b.add(Op::kToReal, {b.integer("i", 4, Axes::prefix())}),
                            b.real("a", {3}, Axes::tag())});
  });
  for (Op op : {Op::kSum, Op::kMaxOf}) {
    add(op, std::string(info(op).name) + " of a vector",
        [&](GraphBuilder& b) { return b.add(op, {b.real("a", {37}, kPrefixTag)}); });
    add(op, std::string(info(op).name) + " of rows", [&](GraphBuilder& b) {
      return b.add(op, {b.real("a", {3, 5}, Axes::prefix())}, {.i = 1});
    });
    add(op, std::string(info(op).name) + " over the length", [&](GraphBuilder& b) {
      return b.add(op, {b.add(Op::kTranspose, {b.real("a", {kLength, 4}, Axes::sequence())})});
    });
  }
  add(Op::kMatMul, "vector times parameters", [](GraphBuilder& b) {
    return b.add(Op::kMatMul, {b.real("a", {5}, kPrefixTag), b.real("b", {5, 7}, Axes::none())});
  });
  add(Op::kMatMul, "matrix times parameters", [](GraphBuilder& b) {
    return b.add(Op::kMatMul,
                 {b.real("a", {3, 5}, Axes::prefix()), b.real("b", {5, 2}, Axes::none())});
  });
  add(Op::kMatMul, "vector times a matrix of its own", [](GraphBuilder& b) {
    return b.add(Op::kMatMul, {b.real("a", {5}, Axes::prefix()),
                               b.real("b", {5, 7}, Axes::sequence() | Axes::tag())});
  });
  for (int flags = 0; flags < 4; ++flags) {
    add(Op::kMatMul, fmt::format("matmul with transposes {}", flags), [&](GraphBuilder& b) {
      const bool ta = (flags & 1) != 0, tb = (flags & 2) != 0;
      return b.add(Op::kMatMul,
                   {b.real("a", ta ? Shape{5, 3} : Shape{3, 5}, Axes::prefix()),
                    b.real("b", tb ? Shape{4, 5} : Shape{5, 4}, Axes::prefix())},
                   {.i = ta, .j = tb});
    });
  }
  add(Op::kMatMul, "attention over the length", [](GraphBuilder& b) {
    const NodeId encoding = b.real("b", {kLength, 4}, Axes::sequence());
    const NodeId scores =
        b.add(Op::kMatMul, {b.real("a", {4}, Axes::prefix()), b.add(Op::kTranspose, {encoding})});
    return b.add(Op::kMatMul, {b.add(Op::kTanh, {scores}), encoding});
  });
  add(Op::kTranspose, "transpose", [](GraphBuilder& b) {
    return b.add(Op::kTranspose, {b.real("a", {3, 5}, Axes::prefix())});
  });
  add(Op::kReshape, "reshape", [](GraphBuilder& b) {
    return b.add(Op::kReshape, {b.real("a", {3, 4}, kPrefixTag)}, {.shape = {2, 6}});
  });
  add(Op::kConcat, "concat", [](GraphBuilder& b) {
    return b.add(Op::kConcat, {b.real("a", {3}, Axes::prefix()), b.real("b", {4}, Axes::none()),
                               b.real("c", {2}, Axes::tag())});
  });
  for (int axis : {0, 1}) {
    add(Op::kConcat, "concat of matrices", [&](GraphBuilder& b) {
      return b.add(Op::kConcat,
                   {b.real("a", {2, 2}, Axes::prefix()), b.real("b", {2, 2}, Axes::tag())},
                   {.axis = axis});
    });
    add(Op::kSlice, "slices of matrices", [&](GraphBuilder& b) {
      const NodeId a = b.real("a", {5, 5}, Axes::prefix());
      const auto slice = [&](int64_t start) {
        return b.add(Op::kSlice, {a}, {.i = start, .j = 2, .axis = axis});
      };
      return b.add(Op::kMul,
                   {b.add(Op::kMul, {slice(0), slice(1)}), slice(3)});  // overlapping, with a gap
    });
  }
  add(Op::kRow, "row of parameters", [](GraphBuilder& b) {
    return b.add(Op::kRow, {b.real("a", {4, 6}, Axes::none()), b.integer("i", 4, Axes::prefix())});
  });
  add(Op::kRow, "row at a position", [](GraphBuilder& b) {
    return b.add(Op::kRow,
                 {b.real("a", {kLength, 6}, Axes::sequence()), b.integer("k", 2, Axes::prefix())});
  });
  const auto shifted = [](GraphBuilder& b, int by) {  // i - by, in [-by, 9 - by)
    return b.add(Op::kSub, {b.integer("i", 9, Axes::prefix()), b.number(by)});
  };
  for (const int by : {0, 4}) {  // beyond the last row, and before the first
    add(Op::kRow, fmt::format("row of T, shifted by {}", by), [&](GraphBuilder& b) {
      return b.add(Op::kRow, {b.real("a", {kLength, 6}, Axes::sequence()), shifted(b, by)});
    });
    add(Op::kRow, fmt::format("row of T that is computed, shifted by {}", by),
        [&](GraphBuilder& b) {
          const NodeId a = b.real("a", {kLength, 6}, Axes::prefix());
          return b.add(Op::kRow, {b.add(Op::kTanh, {a}), shifted(b, by)});
        });
    add(Op::kElement, fmt::format("element of T, shifted by {}", by), [&](GraphBuilder& b) {
      return b.add(Op::kElement, {b.real("a", {kLength}, Axes::prefix()), shifted(b, by)});
    });
    add(Op::kUpdateRow, fmt::format("update_row of T, shifted by {}", by), [&](GraphBuilder& b) {
      const NodeId updated = b.add(Op::kUpdateRow, {b.real("a", {kLength, 4}, Axes::sequence()),
                                                    shifted(b, by), b.real("b", {4}, kPrefixTag)});
      return b.add(Op::kSum, {b.add(Op::kTranspose, {b.add(Op::kTanh, {updated})})});
    });
  }
  add(Op::kRow, "row of T at a fixed number", [](GraphBuilder& b) {
    return b.add(Op::kRow, {b.real("a", {kLength, 6}, Axes::sequence()), b.number(5)});
  });
  add(Op::kRow, "row of T at the position", [](GraphBuilder& b) {
    return b.add(Op::kRow, {b.real("a", {kLength, 6}, Axes::sequence()),
                            b.integer("t", kMaxLength, Axes::sequence())});
  });
  add(Op::kElement, "element", [](GraphBuilder& b) {
    return b.add(
        Op::kElement,
        {b.real("a", {9}, Axes::prefix()),
         b.add(Op::kAdd, {b.integer("i", 4, Axes::sequence()), b.integer("k", 3, Axes::tag())})});
  });
  add(Op::kUpdateRow, "update_row", [](GraphBuilder& b) {
    return b.add(Op::kUpdateRow, {b.real("a", {3, 4}, Axes::prefix()),
                                  b.integer("k", 3, Axes::tag()), b.real("b", {4}, kPrefixTag)});
  });
  add(Op::kOneHot, "one_hot", [](GraphBuilder& b) {
    return b.add(Op::kMul, {b.add(Op::kOneHot, {b.integer("i", 4, Axes::prefix())}, {.i = 5}),
                            b.real("a", {5}, Axes::tag())});
  });
  add(Op::kCandidates, "candidates", [](GraphBuilder& b) {
    const NodeId each = b.add(Op::kTanh, {b.real("a", {4}, kPrefixTag)});
    return b.add(Op::kMul,
                 {b.add(Op::kCandidates, {each}, {.i = kTags}), b.real("b", {4}, Axes::tag())});
  });
  return all;
}

}  // namespace

TEST_CASE("every operation of the table has a case", "[op]") {
  std::set<Op> seen;
  for (const Case& c : cases()) {
    for (const Node& node : c.graph.nodes) seen.insert(node.op);
    seen.insert(c.op);
    const std::vector<std::string> wrt = real_inputs(c.graph), seeds{"out"};
    const Graph gradient = adjoint(c.graph, seeds, wrt);
    for (const Node& node : gradient.nodes) seen.insert(node.op);
  }
  for (int op = 0; op < kNumOps; ++op) {
    if (op == static_cast<int>(Op::kScan) || op == static_cast<int>(Op::kParam))
      continue;  // never in a kernel; as kInput
    INFO(info(static_cast<Op>(op)).name);
    CHECK(seen.contains(static_cast<Op>(op)));
  }
}

TEST_CASE("every row of the table is whole", "[op]") {
  for (int id = 0; id < kNumOps; ++id) {
    const OpRow& op = row(static_cast<Op>(id));
    INFO(info(static_cast<Op>(id)).name);
    CHECK(op.op == static_cast<Op>(id));
    CHECK((op.value != nullptr) == (op.form != Form::kGiven));
    CHECK((op.element != nullptr) == (op.form == Form::kElement));
    CHECK((op.block != nullptr) == (op.form == Form::kBlock));
    CHECK((op.product != nullptr) == (op.form == Form::kProduct));
  }
}

TEST_CASE("the machine code of every operation equals the reference", "[op]") {
  for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
    std::vector<KernelPlan> plans;
    const std::vector<Case> all = cases();
    for (size_t i = 0; i < all.size(); ++i)
      plans.push_back(plan_kernel(kernel_name(i), all[i].graph));
    const Compiled compiled(plans, precision, kTags);
    for (size_t i = 0; i < all.size(); ++i) {
      const Values inputs = random_inputs(all[i].graph, kExtent, all[i].low, all[i].high, i);
      INFO(all[i].name);
      CHECK(difference(compiled.run(kernel_name(i), kExtent, inputs),
                       evaluate(all[i].graph, kExtent, inputs)) <
            (precision == Precision::kDouble ? 1e-12 : 1e-5));
    }
  }
}

TEST_CASE("the adjoint of every operation equals finite differences", "[op]") {
  for (const Case& c : cases()) {
    if (c.op == Op::kStopGradient) continue;  // by definition
    INFO(c.name);
    const std::vector<std::string> wrt = real_inputs(c.graph), seeds{"out"};
    const Graph gradient = adjoint(c.graph, seeds, wrt);
    const Values inputs =
        with_seeds(c.graph, kExtent, random_inputs(c.graph, kExtent, c.low, c.high, 3), 7);
    const Values exact = with_zeros(evaluate(gradient, kExtent, inputs), inputs, wrt);
    for (const std::string& name : wrt) {
      INFO(name);
      for (size_t k = 0; k < inputs.at(name).size(); ++k) {
        Values direction{{name, std::vector<double>(inputs.at(name).size(), 0.0)}};
        direction.at(name)[k] = 1;
        const double expected = slope(c.graph, kExtent, inputs, direction);
        CHECK(std::abs(exact.at("d." + name)[k] - expected) <=
              1e-6 * std::max(1.0, std::abs(expected)));
      }
    }
  }
}

TEST_CASE("the compiled adjoint of every operation equals its reference", "[op]") {
  for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
    const std::vector<Case> all = cases();
    std::vector<KernelPlan> plans;
    std::vector<Graph> gradients;
    for (size_t i = 0; i < all.size(); ++i) {
      const std::vector<std::string> wrt = real_inputs(all[i].graph), seeds{"out"};
      gradients.push_back(remove_dead(adjoint(all[i].graph, seeds, wrt)));
      plans.push_back(plan_kernel(kernel_name(i), gradients.back()));
    }
    const Compiled compiled(plans, precision, kTags);
    for (size_t i = 0; i < all.size(); ++i) {
      const Values inputs =
          with_seeds(all[i].graph, kExtent,
                     random_inputs(all[i].graph, kExtent, all[i].low, all[i].high, i), 7);
      INFO(all[i].name);
      CHECK(
          difference(
              without_padding(compiled.run(kernel_name(i), kExtent, inputs), gradients[i], kExtent),
              without_padding(evaluate(gradients[i], kExtent, inputs), gradients[i], kExtent)) <
          (precision == Precision::kDouble ? 1e-12 : 1e-5));
    }
  }
}

TEST_CASE("Enzyme's gradient of every operation equals the adjoint", "[op][enzyme]") {
  if (skip_without_enzyme()) return;
  for (const Precision precision : {Precision::kFloat, Precision::kDouble}) {
    const std::vector<Case> all = cases();
    std::vector<KernelPlan> plans;
    for (size_t i = 0; i < all.size(); ++i) {
      const std::vector<std::string> wrt = real_inputs(all[i].graph), seeds{"out"};
      plans.push_back(plan_enzyme_gradient(kernel_name(i), all[i].graph, seeds, wrt));
    }
    const Compiled compiled(plans, precision, kTags);
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].op == Op::kStopGradient) continue;
      const std::vector<std::string> wrt = real_inputs(all[i].graph), seeds{"out"};
      const Graph gradient = adjoint(all[i].graph, seeds, wrt);
      const Values inputs =
          with_seeds(all[i].graph, kExtent,
                     random_inputs(all[i].graph, kExtent, all[i].low, all[i].high, i), 7);
      INFO(all[i].name);
      CHECK(difference(
                without_padding(compiled.run(kernel_name(i), kExtent, inputs), gradient, kExtent),
                with_zeros(without_padding(evaluate(gradient, kExtent, inputs), gradient, kExtent),
                           inputs, wrt)) < (precision == Precision::kDouble ? 1e-9 : 1e-4));
    }
  }
}
