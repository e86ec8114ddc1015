// Operations between the axes and dimensions, and sums over axes, which only adjoints make.
#include <utility>

#include "compiler/adjoint.h"
#include "compiler/emission.h"
#include "compiler/evaluation.h"
#include "compiler/op_table.h"
#include "compiler/product_emitter.h"

namespace scry {
namespace {

using A = AdjointBuilder;
using E = Emission;
using P = ProductEmitter;
using V = llvm::Value*;
using X = Evaluation;

constexpr OpRow kRows[] = {
    {.op = Op::kCandidates,  // row i is a at tag i
     .reach = Reach::kTags,
     .value = [](const X& x, int i, int j) { return x.block(0, i)[j]; },
     .element =
         [](E& e, V i, V j) {
           const V outer = std::exchange(e.f.tag, i);
           const V result = e.flat(0, j);
           e.f.tag = outer;
           return result;
         },
     // da = row y_t of dY
     .adjoint =
         [](A& b) {
           b.add(0, b.reshape(b.make(Op::kAtTag, {b.dy()}), b.node(b.in(0)).type.shape));
         },
     // The candidates of a value that is the same for every tag are copies of it.
     .is_view = [](const Graph& g, const Node& n) { return g[n.in[0]].axes.has_tag(); }},

    {.op = Op::kAtTag,  // row y_t of A
     .value = [](const X& x, int, int j) { return x.at(0, x.tag(), j); },
     .element = [](E& e, V, V j) { return e.value(0, e.f.tag, j); }},

    {.op = Op::kSumAxes,  // Σ a
     .form = Form::kBlock,
     .value = [](const X& x, int i, int j) { return x.at(0, i, j); },
     .block =
         [](E& e) {
           e.f.over_elements(e.shape(0), [&](V i, V j) { e.add(i, j, e.value(0, i, j)); });
         },
     .flops = [](const Sizes& s) { return s.operand(0); }},

    {.op = Op::kScatter,  // Σ e_i aᵀ; of a scalar, Σ a e_i
     .form = Form::kBlock,
     .value =
         [](const X& x, int i, int j) {
           const bool is_scalar = x.node.type.shape.rank() == 1;
           const int target = x.index(1, x.node.type.shape[0]);
           return (is_scalar ? j : i) == target ? x.at(0, 0, is_scalar ? 0 : j) : 0;
         },
     .block =
         [](E& e) {
           e.f.over_elements(e.shape(0), [&](V i, V j) {
             const V amount = e.value(0, i, j);
             const V target = e.index(1, e.node.type.shape[0]);
             e.add(target, e.node.type.shape.rank() == 1 ? target : j, amount);
           });
         },
     .flops = [](const Sizes& s) { return s.operand(0); }},

    {.op = Op::kMatMulSum,  // Σ Aᵀ B
     .form = Form::kProduct,
     .value =
         [](const X& x, int i, int j) {
           double total = 0;
           for (int k = 0; k < x.rows(0); ++k) total += x.at(0, k, i) * x.at(1, k, j);
           return total;
         },
     .product =
         [](P& p) {
           // One call for all indices where the blocks of both factors are stacked.
           const bool at_once = p.c.axes.empty() && p.a.axes == p.b.axes && p.a.shape.is_static() &&
                                p.b.shape.is_static();
           p.multiply({.ta = true,
                       .beta = 1,
                       .over = p.a.axes | p.b.axes,
                       .stacked = P::Product::Stacked::kInner,
                       .at_once = at_once});
         },
     .flops = [](const Sizes& s) { return 2 * s.operand(0) * s.dim(s.shape(1).last()); }},
};

}  // namespace

std::span<const OpRow> axes_rows() { return kRows; }

}  // namespace scry
