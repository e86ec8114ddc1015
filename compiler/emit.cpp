#include "compiler/emit.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "compiler/math_emitter.h"
#include "compiler/op_table.h"

namespace scry {
namespace {

using llvm::Value;

class FunctionEmitter {
 public:
  FunctionEmitter(llvm::Module& module, const Graph& graph, const Schedule& schedule, Precision precision, int num_tags, const std::vector<bool>& active)
      : module_(module),
        graph_(graph),
        schedule_(schedule),
        num_tags_(num_tags),
        active_(active),
        b_(module.getContext()),
        real_(precision == Precision::kDouble ? b_.getDoubleTy() : b_.getFloatTy()),
        math_(b_, real_) {
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    b_.setFastMathFlags(flags);
  }

  llvm::Function* run(const std::string& name) {
    begin(name);
    for (const Region& region : schedule_.regions) {
      if (region.product >= 0) {
        emit_product(region.product);
      } else {
        over_axes(region.axes, [&] {
          for (const Group& group : region.groups) emit_group(group);
        });
      }
    }
    b_.CreateRetVoid();
    return function_;
  }

 private:
  static size_t at(NodeId id) { return static_cast<size_t>(id); }
  Value* i64(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }

  // -- Function, loops, scopes ------------------------------------------------------------------

  void begin(const std::string& name) {
    std::vector<llvm::Type*> types{b_.getInt64Ty(), b_.getInt64Ty(), b_.getInt64Ty(), b_.getPtrTy()};
    types.insert(types.end(), schedule_.slots.size(), b_.getPtrTy());
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                       llvm::Function::InternalLinkage, name, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    rows_ = function_->getArg(0);
    sequences_ = function_->getArg(1);
    max_length_ = function_->getArg(2);
    sequence_of_row_ = function_->getArg(3);
    const auto describe = [&](unsigned i, bool is_int) {
      llvm::Argument* arg = function_->getArg(i);
      arg->addAttr(llvm::Attribute::NoAlias);
      arg->addAttr(llvm::Attribute::NoCapture);
      const std::string element = is_int ? "Integer" : real_->isDoubleTy() ? "Float@double" : "Float@float";
      arg->addAttr(llvm::Attribute::get(module_.getContext(), "enzyme_type", "{[-1]:Pointer, [-1,-1]:" + element + "}"));
    };
    describe(3, true);
    for (size_t i = 0; i < schedule_.slots.size(); ++i) {
      const unsigned index = static_cast<unsigned>(i) + 4;
      describe(index, schedule_.slots[i].kind == Kind::kInt);
      function_->getArg(index)->setName(schedule_.slots[i].name);
      if (schedule_.slots[i].role == SlotRole::kInput) function_->getArg(index)->addAttr(llvm::Attribute::ReadOnly);
    }
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function_));
    scopes_.emplace_back();
  }

  enum class Loop { kAxis, kElement };

  /// for (i = 0; i < count; ++i) acc = body(i, acc). Returns the final acc (null if init is).
  Value* loop(Value* count, Loop kind, Value* init, const std::function<Value*(Value*, Value*)>& body) {
    llvm::LLVMContext& context = module_.getContext();
    const auto* fixed = llvm::dyn_cast<llvm::ConstantInt>(count);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* block = llvm::BasicBlock::Create(context, "loop", function_);
    auto* exit = llvm::BasicBlock::Create(context, "done", function_);
    if (fixed != nullptr && fixed->getZExtValue() > 0) {
      b_.CreateBr(block);
    } else {
      b_.CreateCondBr(b_.CreateICmpSGT(count, i64(0)), block, exit);
    }
    b_.SetInsertPoint(block);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2, "i");
    i->addIncoming(i64(0), before);
    llvm::PHINode* acc = nullptr;
    if (init != nullptr) {
      acc = b_.CreatePHI(init->getType(), 2, "acc");
      acc->addIncoming(init, before);
    }
    scopes_.emplace_back();
    Value* next_acc = body(i, acc);
    scopes_.pop_back();
    Value* next = b_.CreateAdd(i, i64(1), "", true, true);
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    llvm::BranchInst* branch = b_.CreateCondBr(b_.CreateICmpSLT(next, count), block, exit);
    if (kind == Loop::kAxis) branch->setMetadata("llvm.loop", axis_loop_metadata());
    i->addIncoming(next, latch);
    if (acc != nullptr) acc->addIncoming(next_acc, latch);
    b_.SetInsertPoint(exit);
    if (init == nullptr) return nullptr;
    llvm::PHINode* result = b_.CreatePHI(init->getType(), 2, "result");
    if (fixed == nullptr || fixed->isZero()) result->addIncoming(init, before);
    result->addIncoming(next_acc, latch);
    return result;
  }
  void for_each(Value* count, Loop kind, const std::function<void(Value*)>& body) {
    loop(count, kind, nullptr, [&](Value* i, Value*) -> Value* {
      body(i);
      return nullptr;
    });
  }
  llvm::MDNode* axis_loop_metadata() {
    llvm::LLVMContext& context = module_.getContext();
    const auto flag = [&](const char* name, bool has_value) -> llvm::Metadata* {
      if (!has_value) return llvm::MDNode::get(context, {llvm::MDString::get(context, name)});
      return llvm::MDNode::get(context, {llvm::MDString::get(context, name), llvm::ConstantAsMetadata::get(b_.getFalse())});
    };
    llvm::MDNode* node = llvm::MDNode::getDistinct(
        context, {nullptr, flag("llvm.loop.vectorize.enable", true), flag("llvm.loop.unroll.disable", false)});
    node->replaceOperandWith(0, node);
    return node;
  }

  void over_axes(Axes axes, const std::function<void()>& body) {
    const auto over_tags = [&] {
      if (!axes.has_tag()) return body();
      for_each(i64(num_tags_), Loop::kAxis, [&](Value* tag) {
        tag_ = tag;
        body();
        tag_ = nullptr;
      });
    };
    if (axes.has_prefix()) {
      for_each(rows_, Loop::kAxis, [&](Value* row) {
        row_ = row;
        Value* address = b_.CreateInBoundsGEP(b_.getInt32Ty(), sequence_of_row_, row);
        sequence_ = b_.CreateSExt(load_fixed(b_.getInt32Ty(), address), b_.getInt64Ty());
        over_tags();
        row_ = sequence_ = nullptr;
      });
    } else if (axes.has_sequence()) {
      for_each(sequences_, Loop::kAxis, [&](Value* sequence) {
        sequence_ = sequence;
        over_tags();
        sequence_ = nullptr;
      });
    } else {
      over_tags();
    }
  }

  // -- Addresses --------------------------------------------------------------------------------

  /// A dimension at the current sequence.
  Value* dim(int size) {
    if (size != kLength) return i64(size);
    Value* address = b_.CreateInBoundsGEP(b_.getInt32Ty(), slot_pointer(schedule_.last_slot), sequence_);
    Value* last = b_.CreateSExt(load_fixed(b_.getInt32Ty(), address), b_.getInt64Ty());
    return b_.CreateAdd(last, i64(1));
  }
  /// A dimension as memory is laid out.
  Value* allocated(int size) { return size == kLength ? max_length_ : i64(size); }
  Value* product(Value* a, Value* b) { return b_.CreateMul(a, b, "", true, true); }

  Value* slot_pointer(int slot) { return function_->getArg(static_cast<unsigned>(slot) + 4); }

  /// The first element of the block of `shape` over `axes` at the current index.
  Value* block_offset(Axes axes, const Shape& shape) {
    Value* index = axes.has_prefix() ? row_ : axes.has_sequence() ? sequence_ : i64(0);
    if (axes.has_tag()) index = b_.CreateAdd(product(index, i64(num_tags_)), tag_, "", true, true);
    for (int axis = 0; axis < shape.rank(); ++axis) index = product(index, allocated(shape[axis]));
    return index;
  }
  Value* element_address(Value* base, llvm::Type* type, Axes axes, const Shape& shape, Value* i, Value* j) {
    Value* offset = block_offset(axes, shape);
    if (shape.rank() == 2) offset = b_.CreateAdd(offset, product(i, allocated(shape[1])), "", true, true);
    if (shape.rank() >= 1) offset = b_.CreateAdd(offset, j, "", true, true);
    return b_.CreateInBoundsGEP(type, base, offset);
  }

  llvm::Type* type_of(const Type& type) { return type.is_int() ? b_.getInt32Ty() : real_; }

  Value* base_pointer(NodeId id) {
    const Node& n = graph_[id];
    if (n.op != Op::kConst) return slot_pointer(schedule_.slot[at(id)]);
    Value*& global = constants_[id];
    if (global == nullptr) {
      std::vector<llvm::Constant*> values;
      for (double value : *n.attr.data) values.push_back(llvm::cast<llvm::Constant>(math_.number(value)));
      auto* type = llvm::ArrayType::get(real_, values.size());
      global = new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                        llvm::ConstantArray::get(type, values), "table");
    }
    return global;
  }

  // -- Values -----------------------------------------------------------------------------------

  using Key = std::tuple<NodeId, Value*, Value*, Value*, Value*, Value*>;
  Key key(NodeId id, Value* i, Value* j) const { return {id, row_, sequence_, tag_, i, j}; }

  /// Element (i, j) of the node, at the current index of the axes.
  Value* value(NodeId id, Value* i, Value* j) {
    const Shape& shape = graph_[id].type.shape;
    if (shape.rank() < 2 || shape[0] == 1) i = i64(0);
    if (shape.rank() < 1 || shape.last() == 1) j = i64(0);
    const Key k = key(id, i, j);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->find(k); found != scope->end()) return found->second;
    }
    Value* result = schedule_.storage[at(id)] == Storage::kInline ? compute(id, i, j) : load(id, i, j);
    scopes_.back()[k] = result;
    return result;
  }
  Value* index(NodeId id) { return b_.CreateSExt(value(id, i64(0), i64(0)), b_.getInt64Ty()); }

  Value* load(NodeId id, Value* i, Value* j) {
    const Node& n = graph_[id];
    if (n.op == Op::kConst && n.attr.data->size() == 1) {
      if (n.type.is_int()) return b_.getInt32(static_cast<uint32_t>(static_cast<int32_t>(n.attr.data->front())));
      return math_.number(n.attr.data->front());
    }
    // The candidate tag itself needs no buffer.
    if (n.op == Op::kInput && n.attr.name == "y" && n.axes == Axes::tag()) return b_.CreateTrunc(tag_, b_.getInt32Ty());
    llvm::Type* type = type_of(n.type);
    Value* address = element_address(base_pointer(id), type, n.axes, n.type.shape, i, j);
    return schedule_.storage[at(id)] == Storage::kLeaf ? load_fixed(type, address) : b_.CreateLoad(type, address);
  }
  /// From memory that no kernel writes, so that Enzyme loads it again instead of keeping a copy.
  Value* load_fixed(llvm::Type* type, Value* address) {
    llvm::LoadInst* load = b_.CreateLoad(type, address);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(module_.getContext(), {}));
    return load;
  }

  Value* compute(NodeId id, Value* i, Value* j) {
    const Node& n = graph_[id];
    switch (n.op) {
      case Op::kTranspose:
        return value(n.in[0], j, i);
      case Op::kReshape:
        return reshaped(n, i, j);
      case Op::kCandidates: {  // row i is the value at tag i
        Value* outer = std::exchange(tag_, i);
        Value* result = flat(n.in[0], j);
        tag_ = outer;
        return result;
      }
      case Op::kAtTag:
        return value(n.in[0], tag_, j);
      case Op::kSlice: {
        Value* start = i64(n.attr.i);
        const bool down = n.type.shape.rank() == 2 && n.attr.axis == 0;
        return down ? value(n.in[0], b_.CreateAdd(i, start, "", true, true), j)
                    : value(n.in[0], i, b_.CreateAdd(j, start, "", true, true));
      }
      case Op::kRow:
        return value(n.in[0], index(n.in[1]), j);
      case Op::kElement:
        return value(n.in[0], i64(0), index(n.in[1]));
      case Op::kUpdateRow:
        return b_.CreateSelect(b_.CreateICmpEQ(i, index(n.in[1])), value(n.in[2], i64(0), j), value(n.in[0], i, j));
      case Op::kOneHot:
        return b_.CreateSelect(b_.CreateICmpEQ(j, index(n.in[0])), math_.number(1), math_.number(0));
      default: {
        std::vector<Value*> operands;
        for (NodeId in : n.in) operands.push_back(value(in, i, j));
        return row(n.op).emit(math_, operands.data());
      }
    }
  }
  /// Element k of the node's elements in order.
  Value* flat(NodeId id, Value* k) {
    const Shape& shape = graph_[id].type.shape;
    if (shape.rank() < 2) return value(id, i64(0), k);
    Value* width = allocated(shape[1]);
    return value(id, b_.CreateUDiv(k, width), b_.CreateURem(k, width));
  }
  Value* reshaped(const Node& n, Value* i, Value* j) {
    if (n.type.shape.rank() < 2) return flat(n.in[0], j);
    return flat(n.in[0], b_.CreateAdd(product(i, allocated(n.type.shape[1])), j, "", true, true));
  }

  // -- Groups -----------------------------------------------------------------------------------

  void over_elements(const Shape& shape, const std::function<void(Value*, Value*)>& body) {
    const auto columns = [&](Value* i) {
      if (shape.rank() == 0 || shape.last() == 1) return body(i, i64(0));
      for_each(dim(shape.last()), Loop::kElement, [&](Value* j) { body(i, j); });
    };
    if (shape.rank() < 2 || shape[0] == 1) return columns(i64(0));
    for_each(dim(shape[0]), Loop::kElement, columns);
  }

  void store(NodeId id, Value* i, Value* j, Value* result) {
    const Node& n = graph_[id];
    llvm::Type* type = type_of(n.type);
    b_.CreateStore(result, element_address(base_pointer(id), type, n.axes, n.type.shape, i, j));
  }
  void add_to(Value* address, Value* amount) {
    b_.CreateStore(b_.CreateFAdd(b_.CreateLoad(amount->getType(), address), amount), address);
  }

  void emit_group(const Group& group) {
    switch (group.kind) {
      case Group::Kind::kMap:
        return emit_map(group);
      case Group::Kind::kReduce:
        return emit_reduction(group.nodes[0]);
      case Group::Kind::kConcat:
        return emit_concat(group.nodes[0]);
      case Group::Kind::kAccumulate:
        return emit_accumulation(group.nodes[0]);
      case Group::Kind::kStore:
        over_elements(group.shape, [&](Value* i, Value* j) {
          const GraphOutput& output = schedule_.outputs[static_cast<size_t>(group.output)];
          const Node& n = graph_[output.node];
          Value* result = value(output.node, i, j);
          Value* base = slot_pointer(schedule_.output_slot[static_cast<size_t>(group.output)]);
          Value* address = element_address(base, result->getType(), output.axes, n.type.shape, i, j);
          if (output.accumulate) {
            add_to(address, result);
          } else {
            b_.CreateStore(result, address);
          }
        });
    }
  }

  void emit_map(const Group& group) {
    const auto element = [&](Value* i, Value* j) {
      for (NodeId id : group.nodes) {
        Value* result = compute(id, i, j);
        store(id, i, j, result);
        scopes_.back()[key(id, i, j)] = result;
      }
    };
    const auto is_transpose = [&](NodeId id) { return graph_[id].op == Op::kTranspose; };
    if (active_.empty() || !std::all_of(group.nodes.begin(), group.nodes.end(), is_transpose)) {
      return over_elements(group.shape, element);
    }
    // For Enzyme, along the operand's rows: its reverse then adds to the operand's shadow in order.
    for_each(dim(group.shape[1]), Loop::kElement, [&](Value* j) {
      for_each(dim(group.shape[0]), Loop::kElement, [&](Value* i) { element(i, j); });
    });
  }

  /// Σ and max over the last dimension. Reassociation lets them vectorise; the order depends on the
  /// size alone.
  void emit_reduction(NodeId id) {
    const Node& n = graph_[id];
    const Shape& in = graph_[n.in[0]].type.shape;
    const bool is_sum = n.op == Op::kSum;
    const auto reduce_row = [&](Value* i) {
      Value* init = math_.number(is_sum ? 0 : -std::numeric_limits<double>::infinity());
      Value* total = loop(dim(in.last()), Loop::kElement, init, [&](Value* j, Value* acc) -> Value* {
        Value* element = value(n.in[0], i, j);
        llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
        llvm::FastMathFlags flags = b_.getFastMathFlags();
        flags.setAllowReassoc(true);
        if (!is_sum) flags.setNoSignedZeros(true), flags.setNoNaNs(true);
        b_.setFastMathFlags(flags);
        if (is_sum) return b_.CreateFAdd(acc, element);
        return b_.CreateSelect(b_.CreateFCmpOGT(element, acc), element, acc);
      });
      if (!active_.empty() && !active_[at(id)]) mark_inactive(total);
      const bool keeps = n.attr.i != 0;
      store(id, i, keeps ? i64(0) : i, total);
    };
    if (in.rank() == 1) return reduce_row(i64(0));
    for_each(dim(in[0]), Loop::kElement, reduce_row);
  }

  /// Enzyme would track which element is the maximum, in memory of its own, for a gradient that is 0.
  void mark_inactive(Value* total) {
    llvm::MDNode* mark = llvm::MDNode::get(module_.getContext(), {});
    std::vector<Value*> chain{total};
    while (!chain.empty()) {
      auto* instruction = llvm::dyn_cast<llvm::Instruction>(chain.back());
      chain.pop_back();
      if (instruction == nullptr || instruction->hasMetadata("enzyme_inactive")) continue;
      if (!llvm::isa<llvm::PHINode, llvm::SelectInst, llvm::FCmpInst>(instruction)) continue;
      instruction->setMetadata("enzyme_inactive", mark);
      chain.insert(chain.end(), instruction->op_begin(), instruction->op_end());
    }
  }

  void emit_concat(NodeId id) {
    const Node& n = graph_[id];
    const bool down = n.type.shape.rank() == 2 && n.attr.axis == 0;
    int64_t from = 0;
    for (NodeId part : n.in) {
      const Shape& shape = graph_[part].type.shape;
      over_elements(shape, [&](Value* i, Value* j) {
        Value* element = value(part, i, j);
        store(id, down ? b_.CreateAdd(i, i64(from)) : i, down ? j : b_.CreateAdd(j, i64(from), "", true, true), element);
      });
      from += down ? shape[0] : shape.last();
    }
  }

  /// Adds to the block that the current index belongs to.
  void emit_accumulation(NodeId id) {
    const Node& n = graph_[id];
    const Shape& shape = graph_[n.in[0]].type.shape;
    over_elements(shape, [&](Value* i, Value* j) {
      Value* amount = value(n.in[0], i, j);
      const Shape& target = n.type.shape;
      const bool scatter = n.op == Op::kScatter;
      Value* to_i = scatter ? index(n.in[1]) : i;
      Value* to_j = scatter && target.rank() == 1 ? index(n.in[1]) : j;
      add_to(element_address(base_pointer(id), real_, n.axes, target, to_i, to_j), amount);
    });
  }

  // -- Products ---------------------------------------------------------------------------------

  /// A matrix operand as gemm takes it: rows × columns at the current index.
  struct Matrix {
    NodeId base;
    Shape shape;  ///< as the product sees it
    Axes axes;    ///< of the operand, in which its blocks are contiguous
  };
  Matrix matrix(NodeId id) { return {base_of_view(graph_, id), graph_[id].type.shape, graph_[id].axes}; }
  Value* pointer(const Matrix& m) {
    return b_.CreateInBoundsGEP(real_, base_pointer(m.base), block_offset(m.axes, m.shape));
  }
  static int leading(const Shape& shape) { return shape.last(); }
  Value* i32(Value* v) { return b_.CreateTrunc(v, b_.getInt32Ty()); }

  void call_gemm(bool ta, bool tb, Value* m, Value* n, Value* k, Value* a, Value* lda, Value* b, Value* ldb,
                 double beta, Value* c, Value* ldc) {
    llvm::Type *word = b_.getInt32Ty(), *pointer = b_.getPtrTy();
    auto* type = llvm::FunctionType::get(
        b_.getVoidTy(), {word, word, word, word, word, word, real_, pointer, word, pointer, word, real_, pointer, word}, false);
    llvm::FunctionCallee callee = module_.getOrInsertFunction(real_->isDoubleTy() ? "cblas_dgemm" : "cblas_sgemm", type);
    describe_gemm(*llvm::cast<llvm::Function>(callee.getCallee()));
    // Column-major Cᵀ = BᵀAᵀ: where Enzyme keeps copies of operands, it gets row-major ones wrong.
    b_.CreateCall(callee, {b_.getInt32(102), b_.getInt32(tb ? 112 : 111), b_.getInt32(ta ? 112 : 111), i32(n), i32(m),
                           i32(k), math_.number(1), b, i32(ldb), a, i32(lda), math_.number(beta), c, i32(ldc)});
  }
  static void describe_gemm(llvm::Function& f) {
    if (f.hasFnAttribute(llvm::Attribute::NoUnwind)) return;
    for (auto kind : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn, llvm::Attribute::NoFree}) f.addFnAttr(kind);
    f.setOnlyAccessesArgMemory();
    for (unsigned arg : {7u, 9u, 12u}) {
      f.addParamAttr(arg, llvm::Attribute::NoCapture);
      if (arg != 12) f.addParamAttr(arg, llvm::Attribute::ReadOnly);
    }
  }
  /// Indices of `axes` in memory order.
  Value* count(Axes axes) {
    Value* n = axes.has_prefix() ? rows_ : axes.has_sequence() ? sequences_ : i64(1);
    return axes.has_tag() ? product(n, i64(num_tags_)) : n;
  }
  /// gemm takes sizes ≥ 1; without rows there is nothing to do.
  void unless_empty(Value* count, const std::function<void()>& body) {
    if (llvm::isa<llvm::ConstantInt>(count)) return body();
    auto* then = llvm::BasicBlock::Create(module_.getContext(), "some", function_);
    auto* exit = llvm::BasicBlock::Create(module_.getContext(), "none", function_);
    b_.CreateCondBr(b_.CreateICmpSGT(count, i64(0)), then, exit);
    b_.SetInsertPoint(then);
    body();
    b_.CreateBr(exit);
    b_.SetInsertPoint(exit);
  }

  void emit_product(NodeId id) {
    if (graph_[id].op == Op::kMatMulSum) return emit_product_sum(id);
    const Node& n = graph_[id];
    const bool ta = n.attr.i != 0, tb = n.attr.j != 0;
    const Matrix a = matrix(n.in[0]), b = matrix(n.in[1]), c{id, n.type.shape, n.axes};
    const auto emit = [&](Value* repeat) {
      Value* m = product(repeat, dim(n.type.shape.rows()));
      Value* k = dim(ta ? a.shape.rows() : a.shape.last());
      call_gemm(ta, tb, m, dim(n.type.shape.last()), k, pointer(a), allocated(leading(a.shape)), pointer(b),
                allocated(leading(b.shape)), 0, pointer(c), allocated(leading(c.shape)));
    };
    // One product for all indices where the right factor is the same and the left ones are stacked.
    if (b.axes.empty() && a.axes == c.axes && !ta && a.shape.is_static()) {
      Value* all = count(c.axes);
      unless_empty(all, [&] { with_first_index([&] { emit(all); }); });
    } else {
      over_axes(c.axes, [&] { emit(i64(1)); });
    }
  }

  /// Σ AᵀB over the axes that the result lacks, added to its buffer.
  void emit_product_sum(NodeId id) {
    const Node& n = graph_[id];
    const Matrix a = matrix(n.in[0]), b = matrix(n.in[1]), c{id, n.type.shape, n.axes};
    const auto emit = [&](Value* repeat) {
      Value* k = product(repeat, dim(a.shape.rows()));
      call_gemm(true, false, dim(n.type.shape.rows()), dim(n.type.shape.last()), k, pointer(a),
                allocated(leading(a.shape)), pointer(b), allocated(leading(b.shape)), 1, pointer(c),
                allocated(leading(c.shape)));
    };
    if (n.axes.empty() && a.axes == b.axes && a.shape.is_static() && b.shape.is_static()) {
      Value* all = count(a.axes);
      unless_empty(all, [&] { with_first_index([&] { emit(all); }); });
    } else {
      over_axes(a.axes | b.axes, [&] { emit(i64(1)); });
    }
  }
  void with_first_index(const std::function<void()>& body) {
    row_ = sequence_ = tag_ = i64(0);
    body();
    row_ = sequence_ = tag_ = nullptr;
  }

  llvm::Module& module_;
  const Graph& graph_;
  const Schedule& schedule_;
  const int num_tags_;
  const std::vector<bool>& active_;
  llvm::IRBuilder<> b_;
  llvm::Type* real_;
  MathEmitter math_;
  llvm::Function* function_ = nullptr;
  Value *rows_ = nullptr, *sequences_ = nullptr, *max_length_ = nullptr, *sequence_of_row_ = nullptr;
  Value *row_ = nullptr, *sequence_ = nullptr, *tag_ = nullptr;  // the current index
  std::vector<std::map<Key, Value*>> scopes_;                    // values already at hand
  std::map<NodeId, Value*> constants_;
};

}  // namespace

llvm::Function* emit_function(llvm::Module& module, const Graph& graph, const Schedule& schedule,
                              const std::string& name, Precision precision, int num_tags,
                              const std::vector<bool>& active) {
  return FunctionEmitter(module, graph, schedule, precision, num_tags, active).run(name);
}

}  // namespace scry
