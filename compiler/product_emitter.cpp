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

ProductEmitter::Matrix matrix(const Graph& graph, NodeId id) {
  return {base_of_view(graph, id), graph[id].type.shape, graph[id].axes};
}

}  // namespace

ProductEmitter::ProductEmitter(LoopEmitter& function, const Graph& graph, NodeId id,
                               std::function<Value(NodeId)> base_pointer)
    : node(graph[id]),
      a(matrix(graph, node.in[0])),
      b(matrix(graph, node.in[1])),
      c{id, node.type.shape, node.axes},
      f_(function),
      base_pointer_(std::move(base_pointer)) {}

ProductEmitter::Value ProductEmitter::pointer(const Matrix& matrix) {
  return f_.builder().CreateInBoundsGEP(f_.real(), base_pointer_(matrix.base),
                                        f_.block_offset(matrix.axes, matrix.shape));
}

void ProductEmitter::call_gemm(const Product& product, Value m, Value n, Value k) {
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
  ir.CreateCall(callee, {ir.getInt32(102), transposed(product.tb), transposed(product.ta), i32(n),
                         i32(m), i32(k), number(1), pointer(b), leading(b), pointer(a), leading(a),
                         number(product.beta), pointer(c), leading(c)});
}

void ProductEmitter::multiply(const Product& product) {
  const bool rows_are_stacked = product.stacked == Product::Stacked::kRows;
  const auto call = [&](Value num_blocks) {
    Value k = f_.dim(product.ta ? a.shape.rows() : a.shape.last());
    if (!rows_are_stacked) k = f_.product(num_blocks, k);
    Value n = f_.dim(c.shape.last());
    Value m = f_.dim(c.shape.rows());
    if (rows_are_stacked) m = f_.product(num_blocks, m);
    call_gemm(product, m, n, k);
  };
  if (product.at_once) {
    Value all = f_.count(product.over);
    f_.at_first_index(all, [&] { call(all); });
  } else {
    f_.over_axes(product.over, [&] { call(f_.i64(1)); });
  }
}

}  // namespace scry
