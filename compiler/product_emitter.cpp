#include "compiler/product_emitter.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace scry {
namespace {

/// What Enzyme and O3 may assume of gemm: it reads A and B, reads and writes C, and nothing else.
void describe_gemm(llvm::Function& f) {
  if (f.hasFnAttribute(llvm::Attribute::NoUnwind)) return;
  for (auto kind :
       {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn, llvm::Attribute::NoFree}) {
    f.addFnAttr(kind);
  }
  f.setOnlyAccessesArgMemory();
  for (unsigned argument : {7u, 9u, 12u}) {
    f.addParamAttr(argument, llvm::Attribute::NoCapture);
    if (argument != 12) f.addParamAttr(argument, llvm::Attribute::ReadOnly);
  }
}

}  // namespace

ProductEmitter::Matrix ProductEmitter::matrix(NodeId id) const {
  return {base_of_view(graph_, id), graph_[id].type.shape, graph_[id].axes};
}

ProductEmitter::Value ProductEmitter::pointer(const Matrix& m) {
  return f_.builder().CreateInBoundsGEP(f_.real(), base_pointer_(m.base),
                                        f_.block_offset(m.axes, m.shape));
}

void ProductEmitter::call_gemm(bool ta, bool tb, Value m, Value n, Value k, const Matrix& a,
                               const Matrix& b, double beta, const Matrix& c) {
  llvm::IRBuilderBase& ir = f_.builder();
  llvm::Type *word = ir.getInt32Ty(), *address = ir.getPtrTy(), *real = f_.real();
  auto* type = llvm::FunctionType::get(
      ir.getVoidTy(),
      {word, word, word, word, word, word, real, address, word, address, word, real, address, word},
      false);
  llvm::FunctionCallee callee =
      f_.module().getOrInsertFunction(real->isDoubleTy() ? "cblas_dgemm" : "cblas_sgemm", type);
  describe_gemm(*llvm::cast<llvm::Function>(callee.getCallee()));
  const auto i32 = [&](Value v) { return ir.CreateTrunc(v, word); };
  const auto leading = [&](const Matrix& x) { return i32(f_.allocated(x.shape.last())); };
  const auto transposed = [&](bool t) { return ir.getInt32(t ? 112 : 111); };
  const auto number = [&](double v) { return llvm::ConstantFP::get(real, v); };
  // Column-major Cᵀ = BᵀAᵀ: where Enzyme keeps copies of operands, it gets row-major ones wrong.
  ir.CreateCall(callee, {ir.getInt32(102), transposed(tb), transposed(ta), i32(n), i32(m), i32(k),
                         number(1), pointer(b), leading(b), pointer(a), leading(a), number(beta),
                         pointer(c), leading(c)});
}

void ProductEmitter::emit(NodeId id) {
  const Node& n = graph_[id];
  if (n.op == Op::kMatMulSum) return emit_sum(id);
  const bool ta = n.attr.i != 0, tb = n.attr.j != 0;
  const Matrix a = matrix(n.in[0]), b = matrix(n.in[1]), c{id, n.type.shape, n.axes};
  const auto multiply = [&](Value repeat) {
    call_gemm(ta, tb, f_.product(repeat, f_.dim(c.shape.rows())), f_.dim(c.shape.last()),
              f_.dim(ta ? a.shape.rows() : a.shape.last()), a, b, 0, c);
  };
  // One product for all indices where the right factor is the same and the left ones are stacked.
  if (b.axes.empty() && a.axes == c.axes && !ta && a.shape.is_static()) {
    Value all = f_.count(c.axes);
    f_.at_first_index(all, [&] { multiply(all); });
  } else {
    f_.over_axes(c.axes, [&] { multiply(f_.i64(1)); });
  }
}

/// Σ AᵀB over the axes that the result lacks, added to its buffer.
void ProductEmitter::emit_sum(NodeId id) {
  const Node& n = graph_[id];
  const Matrix a = matrix(n.in[0]), b = matrix(n.in[1]), c{id, n.type.shape, n.axes};
  const auto multiply = [&](Value repeat) {
    call_gemm(true, false, f_.dim(c.shape.rows()), f_.dim(c.shape.last()),
              f_.product(repeat, f_.dim(a.shape.rows())), a, b, 1, c);
  };
  if (n.axes.empty() && a.axes == b.axes && a.shape.is_static() && b.shape.is_static()) {
    Value all = f_.count(a.axes);
    f_.at_first_index(all, [&] { multiply(all); });
  } else {
    f_.over_axes(a.axes | b.axes, [&] { multiply(f_.i64(1)); });
  }
}

}  // namespace scry
