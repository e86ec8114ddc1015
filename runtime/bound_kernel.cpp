#include "runtime/bound_kernel.h"

#include <fmt/format.h>

#include <cstring>

#include "dsl/error.h"

namespace scry {
namespace {

/// Points the slot at its block of the flat buffer, if it names one.
void* find_block(const std::vector<Block>& blocks, std::string_view name, RealBuffer& buffer) {
  for (const Block& block : blocks) {
    if (block.name == name) return buffer.at(block.offset);
  }
  return nullptr;
}

}  // namespace

BoundKernel::BoundKernel(const Program& program, const Kernel& kernel, Parameters& parameters,
                         Gradients* gradients)
    : precision_(program.precision), num_tags_(program.num_tags()), memory_(program.precision, 0) {
  if (!kernel) return;
  kernel_ = &kernel;
  for (size_t i = 0; i < kernel.slots.size(); ++i) {
    const Slot& slot = kernel.slots[i];
    void* data = find_block(program.params, slot.name, parameters.values);
    if (data == nullptr) data = find_block(program.tables, slot.name, parameters.tables);
    if (data == nullptr && gradients != nullptr && slot.name.starts_with("d.")) {
      const std::string_view name = std::string_view(slot.name).substr(2);
      data = find_block(program.params, name, gradients->values);
      if (data == nullptr) data = find_block(program.tables, name, gradients->tables);
    }
    args_.push_back(data);
    if (slot.role == SlotRole::kWorkspace || slot.role == SlotRole::kZeroed) scratch_.push_back(i);
  }
}

void BoundKernel::bind(std::string_view slot, const void* data) {
  if (kernel_ == nullptr) return;
  for (size_t i = 0; i < kernel_->slots.size(); ++i) {
    const SlotRole role = kernel_->slots[i].role;
    if (role == SlotRole::kWorkspace || role == SlotRole::kZeroed) continue;
    // The kernel writes only to slots whose role says so.
    if (kernel_->slots[i].name == slot) args_[i] = const_cast<void*>(data);
  }
}

void BoundKernel::grow(const KernelCall& call) {
  if (call.num_rows == grown_for_.num_rows && call.num_sequences == grown_for_.num_sequences &&
      call.max_length == grown_for_.max_length) {
    return;
  }
  grown_for_ = call;
  const auto padded = [&](size_t i) {
    return (kernel_->slots[i].num_elements(call, num_tags_) + 15) / 16 * 16;
  };
  int64_t total = 0;
  for (size_t i : scratch_) total += padded(i);
  if (total > memory_.size()) memory_.reset(total);
  int64_t at = 0;
  for (size_t i : scratch_) {
    args_[i] = memory_.at(at);
    at += padded(i);
  }
}

void BoundKernel::run(KernelCall call) {
  if (kernel_ == nullptr) return;
  grow(call);
  for (size_t i = 0; i < kernel_->slots.size(); ++i) {
    const Slot& slot = kernel_->slots[i];
    if (args_[i] == nullptr && slot.num_elements(call, num_tags_) > 0) {
      throw Error(
          fmt::format("kernel {}: the slot '{}' was never bound", kernel_->name, slot.name));
    }
    if (slot.role == SlotRole::kZeroed) {
      const size_t size = slot.kind == Kind::kInt            ? sizeof(int32_t)
                          : precision_ == Precision::kDouble ? sizeof(double)
                                                             : sizeof(float);
      std::memset(args_[i], 0, static_cast<size_t>(slot.num_elements(call, num_tags_)) * size);
    }
  }
  call.args = args_.data();
  kernel_->run(&call);
}

}  // namespace scry
