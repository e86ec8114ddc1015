#include "runtime/kernels/bound_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "base/error.h"

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

/// Bytes from row to row of a slot; 0 if it has no axis of rows.
size_t row_bytes(const Program& program, const Slot& slot) {
  if (!slot.axes.has_prefix() || !slot.shape.is_static()) return 0;
  const KernelCall one_row{1, 0, 0, nullptr, nullptr};
  return static_cast<size_t>(slot.num_elements(one_row, program.num_tags())) *
         (slot.kind == Kind::kInt ? sizeof(int32_t) : program.real_size());
}

}  // namespace

size_t bytes_per_row(const Program& program, const Kernel& kernel) {
  size_t total = 0;
  for (const Slot& slot : kernel.slots) total += row_bytes(program, slot);
  return total;
}

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
    row_bytes_.push_back(row_bytes(program, slot));
    by_sequence_.push_back(!slot.axes.has_prefix() && slot.axes.has_sequence());
    if (is_scratch(slot)) scratch_.push_back(i);
  }
  args_ = bound_;
  chunk_rows_ = choose_chunk();
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
/// in that, and in steps of a power of two up to 64 rows or sequences.
void BoundKernel::grow(const KernelCall& call) {
  if (call.num_rows <= grown_for_.num_rows && call.num_sequences <= grown_for_.num_sequences &&
      call.max_length <= grown_for_.max_length) {
    return;
  }
  const auto larger = [](int64_t had, int64_t wanted) {
    const int64_t unit =
        wanted < 64 ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(wanted))) : 64;
    return std::max(had, (wanted + unit - 1) / unit * unit);
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

int64_t BoundKernel::choose_chunk() const {
  constexpr size_t kCacheBytes = 1 << 20, kMost = 64, kTimes = 4;
  const KernelCall one_sequence{0, 1, 1, nullptr, nullptr};
  size_t for_rows = 0, for_call = 0;
  for (size_t i = 0; i < kernel_->slots.size(); ++i) {
    for_rows += row_bytes_[i];
    for_call +=
        static_cast<size_t>(kernel_->slots[i].num_elements(one_sequence, num_tags_)) * real_size_;
  }
  for_rows = std::max<size_t>(for_rows, 1);
  const size_t least = std::min(kMost, (kTimes * for_call + for_rows - 1) / for_rows);
  return static_cast<int64_t>(
      std::clamp(kCacheBytes / for_rows, std::max<size_t>(least, 1), kMost));
}

size_t BoundKernel::sequence_bytes(size_t slot, const KernelCall& call) const {
  const KernelCall one{0, 1, call.max_length, nullptr, nullptr};
  return static_cast<size_t>(kernel_->slots[slot].num_elements(one, num_tags_)) *
         (kernel_->slots[slot].kind == Kind::kInt ? sizeof(int32_t) : real_size_);
}

/// Leaves the call only those sequences that its rows belong to; returns the first of them.
int64_t BoundKernel::narrow(KernelCall& call) {
  if (call.sequence_of_row == nullptr || call.num_rows == 0) return 0;
  const auto rows = std::span(call.sequence_of_row, static_cast<size_t>(call.num_rows));
  const auto [low, high] = std::minmax_element(rows.begin(), rows.end());
  const int32_t first = *low, count = *high - first + 1;
  if (count == call.num_sequences) return 0;
  sequence_of_row_.resize(rows.size());
  std::transform(rows.begin(), rows.end(), sequence_of_row_.begin(),
                 [&](int32_t sequence) { return sequence - first; });
  call.sequence_of_row = sequence_of_row_.data();
  call.num_sequences = count;
  return first;
}

void BoundKernel::run_rows(KernelCall call, int64_t first, int64_t count) {
  if (kernel_ == nullptr) return;
  call.num_rows = count;
  if (call.sequence_of_row != nullptr) call.sequence_of_row += first;
  const auto first_sequence = static_cast<size_t>(narrow(call));
  grow(call);
  for (size_t i = 0; i < kernel_->slots.size(); ++i) {
    const Slot& slot = kernel_->slots[i];
    if (!is_scratch(slot)) {
      if (bound_[i] == nullptr && slot.num_elements(call, num_tags_) > 0) {
        throw Error(
            fmt::format("kernel {}: the slot '{}' was never bound", kernel_->name, slot.name));
      }
      size_t offset = static_cast<size_t>(first) * row_bytes_[i];
      if (first_sequence > 0 && by_sequence_[i]) offset = first_sequence * sequence_bytes(i, call);
      args_[i] = bound_[i] == nullptr ? nullptr : static_cast<std::byte*>(bound_[i]) + offset;
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
