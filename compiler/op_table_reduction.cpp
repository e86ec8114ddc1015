// Reductions over the last dimension, and products.
#include <algorithm>
#include <limits>

#include "compiler/adjoint.h"
#include "compiler/emission.h"
#include "compiler/evaluation.h"
#include "compiler/op_table.h"
#include "compiler/product_emitter.h"

namespace scry {
namespace {

using A = AdjointBuilder;
using E = Emission;
using M = MathEmitter;
using P = ProductEmitter;
using X = Evaluation;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The operand's row that is reduced to element (i, j): attr.i says whether its dimension is kept,
/// as 1.
int reduced_row(const X& x, int i, int j) { return x.node.attr.i != 0 ? i : j; }

/// A reduction's result (or its gradient) with the reduced dimension back, as 1.
NodeId kept(A& b, NodeId id) {
  const Shape s = b.node(b.in(0)).type.shape;
  return b.reshape(id, s.rank() == 1 ? Shape{1} : Shape{s[0], 1});
}

constexpr OpRow kRows[] = {
    {.op = Op::kSum,  // y = Σ_i a_i
     .form = Form::kBlock,
     .value =
         [](const X& x, int i, int j) {
           double total = 0;
           for (int k = 0; k < x.columns(0); ++k) total += x.at(0, reduced_row(x, i, j), k);
           return total;
         },
     .block = [](E& e) { e.reduce(0, &M::add_in_any_order); },
     // da_i = dy
     .adjoint =
         [](A& b) {
           const Shape shape = b.node(b.in(0)).type.shape;
           b.add(0, b.make(Op::kExpand, {kept(b, b.dy())}, {.shape = shape}));
         },
     .flops = [](const Sizes& s) { return s.operand(0); }},

    {.op = Op::kMaxOf,  // y = max_i a_i
     .form = Form::kBlock,
     .value =
         [](const X& x, int i, int j) {
           double largest = -kInfinity;
           for (int k = 0; k < x.columns(0); ++k)
             largest = std::max(largest, x.at(0, reduced_row(x, i, j), k));
           return largest;
         },
     .block = [](E& e) { e.reduce(-kInfinity, &M::max_in_any_order); },
     // da_i = a_i = y ? dy / n : 0, if n elements are the largest
     .adjoint =
         [](A& b) {
           const NodeId is_top =
               b.make(Op::kIfGreater, {kept(b, b.y()), b.in(0), b.number(0), b.number(1)});
           const NodeId n = b.make(Op::kSum, {is_top}, {.i = 1});
           b.add(0, b.make(Op::kMul, {is_top, b.make(Op::kDiv, {kept(b, b.dy()), n})}));
         },
     .flops = [](const Sizes& s) { return s.operand(0); }},

    {.op = Op::kMatMul,  // Y = A B, where attr.i and attr.j transpose A and B
     .form = Form::kProduct,
     .value =
         [](const X& x, int i, int j) {
           const bool ta = x.node.attr.i != 0, tb = x.node.attr.j != 0;
           double total = 0;
           for (int k = 0; k < (ta ? x.rows(0) : x.columns(0)); ++k)
             total += (ta ? x.at(0, k, i) : x.at(0, i, k)) * (tb ? x.at(1, j, k) : x.at(1, k, j));
           return total;
         },
     .product =
         [](P& p) {
           const bool ta = p.node.attr.i != 0, tb = p.node.attr.j != 0;
           // One call for all indices where the right factor is the same and the left ones are
           // stacked.
           const bool at_once =
               p.b.axes.empty() && p.a.axes == p.c.axes && !ta && p.a.shape.is_static();
           p.multiply({.ta = ta, .tb = tb, .over = p.c.axes, .at_once = at_once});
         },
     // dA = dY Bᵀ, dB = Aᵀ dY
     .adjoint =
         [](A& b) {
           const bool ta = b.node().attr.i != 0, tb = b.node().attr.j != 0;
           const NodeId a = b.in(0), w = b.in(1);
           if (b.needs(0)) {
             NodeId da = b.make(Op::kMatMul, {b.dy(), tb ? w : b.make(Op::kTranspose, {w})});
             b.add(0, ta ? b.make(Op::kTranspose, {da}) : da);
           }
           if (b.needs(1)) {
             const Axes axes = b.node(w).axes;
             const NodeId left = ta ? b.make(Op::kTranspose, {a}) : a;
             b.add(1, tb ? b.make(Op::kMatMulSum, {b.dy(), left}, {.axes = axes})
                         : b.make(Op::kMatMulSum, {left, b.dy()}, {.axes = axes}));
           }
         },
     .flops =
         [](const Sizes& s) {
           const bool ta = s.node.attr.i != 0;
           return 2 * s.result() * s.dim(ta ? s.shape(0).rows() : s.shape(0).last());
         }},
};

}  // namespace

std::span<const OpRow> reduction_rows() { return kRows; }

}  // namespace scry
