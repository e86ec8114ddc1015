#include "compiler/loop_emitter.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace scry {
namespace {

// The function's arguments; slots follow.
enum Argument : unsigned {
  kRows,
  kPositions,
  kSequences,
  kMaxSequenceLength,
  kPositionOfRow,
  kSequenceOfPosition,
  kFirstSlot,
};

}  // namespace

LoopEmitter::LoopEmitter(llvm::Module& module, const Schedule& schedule, const std::string& name,
                         Precision precision, int num_tags)
    : module_(module),
      schedule_(schedule),
      num_tags_(num_tags),
      builder_(
          new llvm::IRBuilder<>(module.getContext()),
          [](llvm::IRBuilderBase* builder) { delete static_cast<llvm::IRBuilder<>*>(builder); }),
      real_(precision == Precision::kDouble ? builder_->getDoubleTy() : builder_->getFloatTy()) {
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  builder_->setFastMathFlags(flags);
  std::vector<llvm::Type*> types(kPositionOfRow, builder_->getInt64Ty());
  types.insert(types.end(), kFirstSlot - kPositionOfRow + schedule.slots.size(),
               builder_->getPtrTy());
  function_ = llvm::Function::Create(llvm::FunctionType::get(builder_->getVoidTy(), types, false),
                                     llvm::Function::InternalLinkage, name, module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  describe(function_->getArg(kPositionOfRow), true);
  describe(function_->getArg(kSequenceOfPosition), true);
  for (size_t i = 0; i < schedule.slots.size(); ++i) {
    const Slot& slot = schedule.slots[i];
    llvm::Argument* argument = function_->getArg(static_cast<unsigned>(i) + kFirstSlot);
    describe(argument, slot.kind == Kind::kInt);
    argument->setName(slot.name);
    if (slot.role == SlotRole::kInput) argument->addAttr(llvm::Attribute::ReadOnly);
  }
  builder_->SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function_));
}

void LoopEmitter::describe(llvm::Argument* argument, bool is_int) {
  argument->addAttr(llvm::Attribute::NoAlias);
  argument->addAttr(llvm::Attribute::NoCapture);
  const std::string element = is_int                ? "Integer"
                              : real_->isDoubleTy() ? "Float@double"
                                                    : "Float@float";
  argument->addAttr(llvm::Attribute::get(module_.getContext(), "enzyme_type",
                                         "{[-1]:Pointer, [-1,-1]:" + element + "}"));
}

LoopEmitter::Value LoopEmitter::loop(Value count, Loop kind, Value init, const Body& body) {
  llvm::IRBuilderBase& b = *builder_;
  const auto* fixed = llvm::dyn_cast<llvm::ConstantInt>(count);
  const bool surely_runs = fixed != nullptr && fixed->getZExtValue() > 0;
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* block = llvm::BasicBlock::Create(module_.getContext(), "loop", function_);
  auto* exit = llvm::BasicBlock::Create(module_.getContext(), "done", function_);
  if (surely_runs) {
    b.CreateBr(block);
  } else {
    b.CreateCondBr(b.CreateICmpSGT(count, i64(0)), block, exit);
  }
  b.SetInsertPoint(block);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2, "i");
  i->addIncoming(i64(0), before);
  llvm::PHINode* accumulated = nullptr;
  if (init != nullptr) {
    accumulated = b.CreatePHI(init->getType(), 2, "acc");
    accumulated->addIncoming(init, before);
  }
  on_enter();
  Value next_accumulated = body(i, accumulated);
  on_leave();
  Value next = sum(i, i64(1));
  llvm::BasicBlock* latch = b.GetInsertBlock();
  llvm::BranchInst* branch = b.CreateCondBr(b.CreateICmpSLT(next, count), block, exit);
  if (kind == Loop::kAxis) branch->setMetadata("llvm.loop", axis_loop_metadata());
  i->addIncoming(next, latch);
  if (accumulated != nullptr) accumulated->addIncoming(next_accumulated, latch);
  b.SetInsertPoint(exit);
  if (init == nullptr) return nullptr;
  llvm::PHINode* result = b.CreatePHI(init->getType(), 2, "result");
  if (!surely_runs) result->addIncoming(init, before);
  result->addIncoming(next_accumulated, latch);
  return result;
}

void LoopEmitter::for_each(Value count, Loop kind, const std::function<void(Value)>& body) {
  loop(count, kind, nullptr, [&](Value i, Value) -> Value {
    body(i);
    return nullptr;
  });
}

llvm::MDNode* LoopEmitter::axis_loop_metadata() {
  llvm::LLVMContext& context = module_.getContext();
  const auto name = [&](const char* text) { return llvm::MDString::get(context, text); };
  llvm::Metadata* no = llvm::ConstantAsMetadata::get(builder_->getFalse());
  llvm::MDNode* node = llvm::MDNode::getDistinct(
      context, {nullptr, llvm::MDNode::get(context, {name("llvm.loop.vectorize.enable"), no}),
                llvm::MDNode::get(context, {name("llvm.loop.unroll.disable")})});
  node->replaceOperandWith(0, node);
  return node;
}

void LoopEmitter::over_axes(Axes axes, const std::function<void()>& body) {
  const auto over_tags = [&] {
    if (!axes.has_tag()) return body();
    for_each(i64(num_tags_), Loop::kAxis, [&](Value index) {
      tag = index;
      body();
      tag = nullptr;
    });
  };
  if (axes.has_prefix()) {
    for_each(function_->getArg(kRows), Loop::kAxis, [&](Value index) {
      row = index;
      position = load_index(function_->getArg(kPositionOfRow), index);
      sequence = load_index(function_->getArg(kSequenceOfPosition), position);
      over_tags();
      row = position = sequence = nullptr;
    });
  } else if (axes.has_position()) {
    for_each(function_->getArg(kPositions), Loop::kAxis, [&](Value index) {
      position = index;
      sequence = load_index(function_->getArg(kSequenceOfPosition), index);
      over_tags();
      position = sequence = nullptr;
    });
  } else if (axes.has_sequence()) {
    for_each(function_->getArg(kSequences), Loop::kAxis, [&](Value index) {
      sequence = index;
      over_tags();
      sequence = nullptr;
    });
  } else {
    over_tags();
  }
}

void LoopEmitter::over_elements(const Shape& shape, const std::function<void(Value, Value)>& body) {
  const auto columns = [&](Value i) {
    if (shape.rank() == 0 || shape.last() == 1) return body(i, i64(0));
    for_each(dim(shape.last()), Loop::kElement, [&](Value j) { body(i, j); });
  };
  if (shape.rank() < 2 || shape[0] == 1) return columns(i64(0));
  for_each(dim(shape[0]), Loop::kElement, columns);
}

void LoopEmitter::at_first_index(Value count, const std::function<void()>& body) {
  const auto run = [&] {
    row = position = sequence = tag = i64(0);
    body();
    row = position = sequence = tag = nullptr;
  };
  if (llvm::isa<llvm::ConstantInt>(count)) return run();
  auto* then = llvm::BasicBlock::Create(module_.getContext(), "some", function_);
  auto* exit = llvm::BasicBlock::Create(module_.getContext(), "none", function_);
  builder_->CreateCondBr(builder_->CreateICmpSGT(count, i64(0)), then, exit);
  builder_->SetInsertPoint(then);
  run();
  builder_->CreateBr(exit);
  builder_->SetInsertPoint(exit);
}

LoopEmitter::Value LoopEmitter::i64(int64_t value) {
  return builder_->getInt64(static_cast<uint64_t>(value));
}
LoopEmitter::Value LoopEmitter::sum(Value a, Value b) {
  return builder_->CreateAdd(a, b, "", true, true);
}
LoopEmitter::Value LoopEmitter::product(Value a, Value b) {
  return builder_->CreateMul(a, b, "", true, true);
}

LoopEmitter::Value LoopEmitter::load_index(Value base, Value at) {
  Value address = builder_->CreateInBoundsGEP(builder_->getInt32Ty(), base, at);
  return builder_->CreateSExt(load_fixed(builder_->getInt32Ty(), address), builder_->getInt64Ty());
}
LoopEmitter::Value LoopEmitter::last() { return load_index(slot(schedule_.last_slot), sequence); }
LoopEmitter::Value LoopEmitter::dim(int size) {
  return size == kLength ? sum(last(), i64(1)) : i64(size);
}
LoopEmitter::Value LoopEmitter::allocated(int size) {
  return size == kLength ? function_->getArg(kMaxSequenceLength) : i64(size);
}
LoopEmitter::Value LoopEmitter::count(Axes axes) {
  Value n = axes.has_prefix()     ? function_->getArg(kRows)
            : axes.has_position() ? function_->getArg(kPositions)
            : axes.has_sequence() ? function_->getArg(kSequences)
                                  : i64(1);
  return axes.has_tag() ? product(n, i64(num_tags_)) : n;
}

LoopEmitter::Value LoopEmitter::slot(int index) {
  return function_->getArg(static_cast<unsigned>(index) + kFirstSlot);
}
LoopEmitter::Value LoopEmitter::block_offset(Axes axes, const Shape& shape) {
  Value index = axes.has_prefix()     ? row
                : axes.has_position() ? position
                : axes.has_sequence() ? sequence
                                      : i64(0);
  if (axes.has_tag()) index = sum(product(index, i64(num_tags_)), tag);
  for (int axis = 0; axis < shape.rank(); ++axis) index = product(index, allocated(shape[axis]));
  return index;
}
LoopEmitter::Value LoopEmitter::element_address(Value base, llvm::Type* type, Axes axes,
                                                const Shape& shape, Value i, Value j) {
  Value offset = block_offset(axes, shape);
  if (shape.rank() == 2) offset = sum(offset, product(i, allocated(shape[1])));
  if (shape.rank() >= 1) offset = sum(offset, j);
  return builder_->CreateInBoundsGEP(type, base, offset);
}
LoopEmitter::Value LoopEmitter::load_fixed(llvm::Type* type, Value address) {
  llvm::LoadInst* load = builder_->CreateLoad(type, address);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(module_.getContext(), {}));
  return load;
}

}  // namespace scry
