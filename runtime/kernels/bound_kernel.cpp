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
/// Scratch memory is there for it.
bool has_scratch(const Slot& slot) { return is_scratch(slot) || slot.role == SlotRole::kKept; }

/// Bytes from row to row of a slot, or from position to position; 0 if it has neither axis, or if
/// they depend on T.
size_t row_bytes(const Program& program, const Slot& slot) {
  if (!(slot.axes.has_prefix() || slot.axes.has_position()) || !slot.shape.is_static()) return 0;
  const KernelCall one{1, 1, 0, 0};
  return static_cast<size_t>(slot.num_elements(one, program.num_tags())) *
         (slot.kind == Kind::kInt ? sizeof(int32_t) : program.real_size());
}

/// The least range that holds all of these numbers, which are then counted from its begin.
struct Range {
  int64_t first, count;
};
Range narrow_numbers(const int32_t*& numbers, int64_t count, std::vector<int32_t>& memory) {
  const auto all = std::span(numbers, static_cast<size_t>(count));
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  const int32_t first = *low;
  const Range range{first, *high - first + 1};
  if (first > 0) {
    memory.resize(all.size());
    std::transform(all.begin(), all.end(), memory.begin(),
                   [&](int32_t number) { return number - first; });
    numbers = memory.data();
  }
  return range;
}

}  // namespace

size_t bytes_per_row(const Program& program, const Kernel& kernel) {
  size_t total = 0;
  for (const Slot& slot : kernel.slots) {
    if (slot.axes.has_prefix()) total += row_bytes(program, slot);
  }
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
    if (has_scratch(slot)) scratch_.push_back({i, nullptr});
    if (slot.axes.has_sequence()) {
      has_sequence_scratch_ |= is_scratch(slot);
      has_sequence_results_ |= slot.role == SlotRole::kOutput || slot.role == SlotRole::kSeed;
    }
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
/// in that, and in steps of a power of two up to 64 rows, positions or sequences.
void BoundKernel::grow(const KernelCall& call) {
  if (call.num_rows <= grown_for_.num_rows && call.num_positions <= grown_for_.num_positions &&
      call.num_sequences <= grown_for_.num_sequences && call.max_length <= grown_for_.max_length) {
    return;
  }
  const auto larger = [](int64_t had, int64_t wanted) {
    const int64_t unit =
        wanted < 64 ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(wanted))) : 64;
    return std::max(had, (wanted + unit - 1) / unit * unit);
  };
  grown_for_ = {larger(grown_for_.num_rows, call.num_rows),
                larger(grown_for_.num_positions, call.num_positions),
                larger(grown_for_.num_sequences, call.num_sequences),
                std::max(grown_for_.max_length, call.max_length)};
  const auto padded = [&](size_t i) {
    return (kernel_->slots[i].num_elements(grown_for_, num_tags_) + 15) / 16 * 16;
  };
  int64_t total = 0;
  for (const Scratch& scratch : scratch_) total += padded(scratch.slot);
  if (total > memory_.size()) memory_.reset(total);
  int64_t at = 0;
  for (Scratch& scratch : scratch_) {
    scratch.at = args_[scratch.slot] = memory_.at(at);
    at += padded(scratch.slot);
  }
}

int64_t BoundKernel::choose_chunk() const {
  constexpr size_t kCacheBytes = 1 << 20, kMost = 64, kTimes = 4;
  const KernelCall one_sequence{0, 1, 1, 1};
  const auto has_rows = [](const Slot& slot) { return slot.axes.has_prefix(); };
  const bool of_rows = std::any_of(kernel_->slots.begin(), kernel_->slots.end(), has_rows);
  size_t for_rows = 0, for_call = 0;
  for (size_t i = 0; i < kernel_->slots.size(); ++i) {
    const Slot& slot = kernel_->slots[i];
    const bool is_rows = of_rows ? slot.axes.has_prefix() : slot.axes.has_position();
    if (is_rows) {
      for_rows += row_bytes_[i];
    } else {
      for_call += static_cast<size_t>(slot.num_elements(one_sequence, num_tags_)) * real_size_;
    }
  }
  for_rows = std::max<size_t>(for_rows, 1);
  const size_t least = std::min(kMost, (kTimes * for_call + for_rows - 1) / for_rows);
  return static_cast<int64_t>(
      std::clamp(kCacheBytes / for_rows, std::max<size_t>(least, 1), kMost));
}

/// Of one index of the slot's axes.
size_t BoundKernel::block_bytes(size_t slot, const KernelCall& call) const {
  if (row_bytes_[slot] > 0) return row_bytes_[slot];
  const KernelCall one{1, 1, 1, call.max_length};
  return static_cast<size_t>(kernel_->slots[slot].num_elements(one, num_tags_)) *
         (kernel_->slots[slot].kind == Kind::kInt ? sizeof(int32_t) : real_size_);
}

size_t BoundKernel::offset_of(size_t slot, const KernelCall& call, const Offset& offset) const {
  const Axes axes = kernel_->slots[slot].axes;
  const int64_t blocks = axes.has_prefix()     ? offset.row
                         : axes.has_position() ? offset.position
                         : axes.has_sequence() ? offset.sequence
                                               : 0;
  return blocks == 0 ? 0 : static_cast<size_t>(blocks) * block_bytes(slot, call);
}

/// Leaves the call only those positions that its rows stand at, and, where a kernel computes what
/// is a sequence's, their sequences.
void BoundKernel::narrow(KernelCall& call, Offset& offset) {
  if (call.position_of_row == nullptr || call.num_rows == 0) return;
  const Range positions = narrow_numbers(call.position_of_row, call.num_rows, position_of_row_);
  offset.position = positions.first;
  call.num_positions = positions.count;
  call.sequence_of_position += positions.first;
  if (!has_sequence_scratch_) return;
  const Range sequences =
      narrow_numbers(call.sequence_of_position, call.num_positions, sequence_of_position_);
  offset.sequence = sequences.first;
  call.num_sequences = sequences.count;
}

void BoundKernel::run_rows(const KernelCall& call, int64_t first, int64_t count) {
  if (kernel_ == nullptr) return;
  KernelCall part = call;
  Offset offset{first};
  part.num_rows = count;
  if (part.position_of_row != nullptr) part.position_of_row += first;
  narrow(part, offset);
  run_part(part, offset);
}

void BoundKernel::run_positions(const KernelCall& call) {
  if (kernel_ == nullptr) return;
  const int64_t most = has_sequence_results_ ? call.num_positions : chunk_rows_;
  for (int64_t first = 0; first < call.num_positions; first += most) {
    KernelCall part = call;
    part.num_positions = std::min(most, call.num_positions - first);
    part.sequence_of_position += first;
    run_part(part, {0, first});
  }
}

void BoundKernel::run_part(KernelCall call, const Offset& offset) {
  grow(call);
  for (const Scratch& scratch : scratch_) args_[scratch.slot] = scratch.at;
  for (size_t i = 0; i < kernel_->slots.size(); ++i) {
    const Slot& slot = kernel_->slots[i];
    if (slot.role == SlotRole::kKept && bound_[i] == nullptr) continue;
    if (!is_scratch(slot)) {
      if (bound_[i] == nullptr && slot.num_elements(call, num_tags_) > 0) {
        throw Error(
            fmt::format("kernel {}: the slot '{}' was never bound", kernel_->name, slot.name));
      }
      args_[i] = bound_[i] == nullptr
                     ? nullptr
                     : static_cast<std::byte*>(bound_[i]) + offset_of(i, call, offset);
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
