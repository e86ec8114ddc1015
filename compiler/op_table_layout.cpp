// Operations that move elements: layout, and indexing by a symbol.
#include "compiler/adjoint.h"
#include "compiler/emission.h"
#include "compiler/evaluation.h"
#include "compiler/op_table.h"

namespace scry {
namespace {

using A = AdjointBuilder;
using E = Emission;
using V = llvm::Value*;
using X = Evaluation;

/// A concatenation or slice of rows, not of a vector's elements or of columns.
bool is_down(const Node& node) { return node.type.shape.rank() == 2 && node.attr.axis == 0; }

/// Row and element: dA_i += dy.
void scatter(A& b) {
  const Node a = b.node(b.in(0));
  b.add(0, b.make(Op::kScatter, {b.dy(), b.in(1)}, {.shape = a.type.shape, .axes = a.axes}));
}

constexpr OpRow kRows[] = {
    {.op = Op::kTranspose,  // y_ij = a_ji
     .by_columns = true,
     .value = [](const X& x, int i, int j) { return x.at(0, j, i); },
     .element = [](E& e, V i, V j) { return e.value(0, j, i); },
     // dA = dYᵀ
     .adjoint = [](A& b) { b.add(0, b.make(Op::kTranspose, {b.dy()})); }},

    {.op = Op::kReshape,  // element k in order is a's element k
     .value =
         [](const X& x, int i, int j) {
           return x.block(0, x.tag())[i * x.allocated(x.node.type.shape.last()) + j];
         },
     .element =
         [](E& e, V i, V j) {
           const Shape& shape = e.node.type.shape;
           if (shape.rank() < 2) return e.flat(0, j);
           return e.flat(0, e.f.sum(e.f.product(i, e.f.allocated(shape[1])), j));
         },
     // da = dy in a's shape
     .adjoint = [](A& b) { b.add(0, b.reshape(b.dy(), b.node(b.in(0)).type.shape)); },
     .is_view = [](const Graph&, const Node&) { return true; }},

    {.op = Op::kConcat,  // [a; b; …]
     .form = Form::kBlock,
     .value =
         [](const X& x, int i, int j) {
           int& along = is_down(x.node) ? i : j;
           for (size_t part = 0;; ++part) {
             const int extent = is_down(x.node) ? x.shape(part).rows() : x.shape(part).last();
             if (along < extent) return x.at(part, i, j);
             along -= extent;
           }
         },
     .block =
         [](E& e) {
           const bool down = is_down(e.node);
           int64_t from = 0;
           for (size_t part = 0; part < e.node.in.size(); ++part) {
             const V start = e.f.i64(from);
             e.f.over_elements(e.shape(part), [&](V i, V j) {
               const V element = e.value(part, i, j);
               e.store(down ? e.f.sum(i, start) : i, down ? j : e.f.sum(j, start), element);
             });
             from += down ? e.shape(part).rows() : e.shape(part).last();
           }
         },
     // each part's gradient is its slice of dy
     .adjoint =
         [](A& b) {
           const int64_t axis = b.node().attr.axis;
           int64_t at = 0;
           for (size_t i = 0; i < b.node().in.size(); ++i) {
             const int64_t size = b.node(b.in(i)).type.shape[static_cast<int>(axis)];
             if (b.needs(i))
               b.add(i, b.make(Op::kSlice, {b.dy()}, {.i = at, .j = size, .axis = axis}));
             at += size;
           }
         }},

    {.op = Op::kSlice,  // a_{s:s+n}: y_k = a_{s+k}
     .value =
         [](const X& x, int i, int j) {
           const int start = static_cast<int>(x.node.attr.i);
           return is_down(x.node) ? x.at(0, i + start, j) : x.at(0, i, j + start);
         },
     .element =
         [](E& e, V i, V j) {
           const V start = e.f.i64(e.node.attr.i);
           return is_down(e.node) ? e.value(0, e.f.sum(i, start), j)
                                  : e.value(0, i, e.f.sum(j, start));
         },
     // dy stands at the slice's place, 0 elsewhere
     .adjoint = [](A& b) { b.add_slice(0, b.dy(), Attr(b.node().attr)); }},

    {.op = Op::kRow,  // y_j = a_ij
     .value = [](const X& x, int, int j) { return x.at(0, x.index(1, x.shape(0)[0]), j); },
     .element = [](E& e, V, V j) { return e.value(0, e.index(1, e.shape(0)[0]), j); },
     .adjoint = scatter},

    {.op = Op::kElement,  // y = a_i
     .value = [](const X& x, int, int) { return x.at(0, 0, x.index(1, x.shape(0)[0])); },
     .element = [](E& e, V, V) { return e.value(0, e.f.i64(0), e.index(1, e.shape(0)[0])); },
     .adjoint = scatter},

    {.op = Op::kUpdateRow,  // y_kj = k = i ? v_j : a_kj
     .value = [](const X& x, int i,
                 int j) { return i == x.index(1, x.shape(0)[0]) ? x.at(2, 0, j) : x.at(0, i, j); },
     .element =
         [](E& e, V i, V j) {
           const V kept = e.value(0, i, j), updated = e.value(2, e.f.i64(0), j);
           return e.m.if_equal(i, e.index(1, e.shape(0)[0]), updated, kept);
         },
     // dA = dY with row i zero, dv = row i of dY
     .adjoint =
         [](A& b) {
           const Shape row{b.node().type.shape[1]};
           const NodeId d_row = b.make(Op::kRow, {b.dy(), b.in(1)});
           // A row of length T cannot be a constant.
           const NodeId zeros =
               row.is_static() ? b.zeros(row) : b.make(Op::kMul, {d_row, b.number(0)});
           if (b.needs(0)) b.add(0, b.make(Op::kUpdateRow, {b.dy(), b.in(1), zeros}));
           if (b.needs(2)) b.add(2, d_row);
         }},

    {.op = Op::kOneHot,  // y_j = j = i ? 1 : 0
     .value = [](const X& x, int,
                 int j) { return j == x.index(0, x.node.type.shape[0]) ? 1.0 : 0.0; },
     .element =
         [](E& e, V, V j) {
           const V i = e.index(0, e.node.type.shape[0]);
           return e.m.if_equal(j, i, e.m.number(1), e.m.number(0));
         }},
};

}  // namespace

std::span<const OpRow> layout_rows() { return kRows; }

}  // namespace scry
