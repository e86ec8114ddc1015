#include "runtime/bound_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "dsl/error.h"

namespace scry {
namespace {

const Block* find_block(const std::vector<Block>& blocks, std::string_view name) {
  for (const Block& block : blocks) {
    if (block.name == name) return &block;
  }
  return nullptr;
}

bool is_scratch(const Slot& slot) {
  return slot.role == SlotRole::kWorkspace || slot.role == SlotRole::kZeroed;
}

}  // namespace

BoundKernel::BoundKernel(const Program& program, const Kernel& kernel, const Parameters& parameters,
                         Gradients* gradients)
    : real_size_(program.real_size()),
      num_tags_(program.num_tags()),
      memory_(program.precision, 0) {
  if (parameters.values.size() != program.num_param_elements ||
      parameters.tables.size() != program.num_table_elements) {
    throw Error(
        "the parameters belong to another program; read or copy their values into this one's");
  }
  if (!kernel) return;
  kernel_ = &kernel;
  for (size_t i = 0; i < kernel.slots.size(); ++i) {
    const Slot& slot = kernel.slots[i];
    const void* data = nullptr;
    if (const Block* block = find_block(program.params, slot.name)) {
      data = parameters.values.at(block->offset);
    } else if (const Block* table = find_block(program.tables, slot.name)) {
      data = parameters.tables.at(table->offset);
    } else if (slot.name.starts_with("d.")) {
      const std::string_view name = std::string_view(slot.name).substr(2);
      if (const Block* block = find_block(program.params, name)) {
        gradient_slots_.push_back({i, block->offset, false});
      } else if (const Block* table = find_block(program.tables, name)) {
        gradient_slots_.push_back({i, table->offset, true});
      }
    }
    bound_.push_back(const_cast<void*>(data));  // kernels write only where a slot's role says so
    const KernelCall one_row{1, 0, 0, nullptr, nullptr};
    const bool by_row = slot.axes.has_prefix() && slot.shape.is_static();
    row_bytes_.push_back(by_row ? static_cast<size_t>(slot.num_elements(one_row, num_tags_)) *
                                      (slot.kind == Kind::kInt ? sizeof(int32_t) : real_size_)
                                : 0);
    if (is_scratch(slot)) scratch_.push_back(i);
  }
  args_ = bound_;
  if (gradients != nullptr) bind(*gradients);
}

void BoundKernel::bind(Gradients& gradients) {
  for (const GradientSlot& at : gradient_slots_) {
    RealBuffer& buffer = at.of_table ? gradients.tables : gradients.values;
    bound_[at.slot] = buffer.at(at.offset);
  }
}

SlotHandle BoundKernel::find(std::string_view slot) const {
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (kernel_->slots[i].name == slot && !is_scratch(kernel_->slots[i]))
      return {static_cast<int>(i)};
  }
  return {};
}

/// Scratch for at least this call. It is laid out for the largest call so far, as smaller ones fit
/// in that, and in steps of 64 rows or sequences.
void BoundKernel::grow(const KernelCall& call) {
  if (call.num_rows <= grown_for_.num_rows && call.num_sequences <= grown_for_.num_sequences &&
      call.max_length <= grown_for_.max_length) {
    return;
  }
  const auto larger = [](int64_t had, int64_t wanted) {
    return std::max(had, (wanted + 63) / 64 * 64);
  };
  grown_for_ = {larger(grown_for_.num_rows, call.num_rows),
                larger(grown_for_.num_sequences, call.num_sequences),
                std::max(grown_for_.max_length, call.max_length), nullptr, nullptr};
  const auto padded = [&](size_t i) {
    return (kernel_->slots[i].num_elements(grown_for_, num_tags_) + 15) / 16 * 16;
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

void BoundKernel::run_rows(KernelCall call, int64_t first, int64_t count) {
  if (kernel_ == nullptr) return;
  call.num_rows = count;
  if (call.sequence_of_row != nullptr) call.sequence_of_row += first;
  grow(call);
  for (size_t i = 0; i < kernel_->slots.size(); ++i) {
    const Slot& slot = kernel_->slots[i];
    if (!is_scratch(slot)) {
      if (bound_[i] == nullptr && slot.num_elements(call, num_tags_) > 0) {
        throw Error(
            fmt::format("kernel {}: the slot '{}' was never bound", kernel_->name, slot.name));
      }
      args_[i] = static_cast<std::byte*>(bound_[i]) + static_cast<size_t>(first) * row_bytes_[i];
    } else if (slot.role == SlotRole::kZeroed) {
      std::memset(args_[i], 0,
                  static_cast<size_t>(slot.num_elements(call, num_tags_)) *
                      (slot.kind == Kind::kInt ? sizeof(int32_t) : real_size_));
    }
  }
  call.args = args_.data();
  kernel_->run(&call);
}

}  // namespace scry
