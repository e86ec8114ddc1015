// What a batch computes of its sequences and positions beforehand, or the gradients of it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "runtime/kernels/bound_kernel.h"

namespace scry {

/// One buffer per value of a PlaceStage, laid out as kernels take them.
class PlacedRows {
 public:
  PlacedRows() = default;
  PlacedRows(const Program& program, const PlaceStage& stage) : values_(stage.values) {
    for (size_t i = 0; i < values_.size(); ++i) buffers_.emplace_back(program.precision, 0);
  }

  bool empty() const { return values_.empty(); }
  /// For a batch of this extent; holds what it held, or anything.
  void resize(const KernelCall& batch) {
    max_length_ = batch.max_length;
    for (size_t i = 0; i < values_.size(); ++i)
      buffers_[i].grow(num_indices(i, batch) * block_size(i));
  }
  /// Likewise, and holds zeros.
  void reset(const KernelCall& batch) {
    max_length_ = batch.max_length;
    for (size_t i = 0; i < values_.size(); ++i)
      buffers_[i].reset(num_indices(i, batch) * block_size(i));
  }

  /// The slots PREFIX.NAME of a kernel.
  std::vector<SlotHandle> find(const BoundKernel& kernel, const std::string& prefix = "") const {
    std::vector<SlotHandle> slots;
    for (const PlacedValue& value : values_) slots.push_back(kernel.find(prefix + value.name));
    return slots;
  }
  /// Those of positions from `first_position` on.
  void bind(BoundKernel& kernel, std::span<const SlotHandle> slots,
            int64_t first_position = 0) const {
    for (size_t i = 0; i < values_.size(); ++i) {
      const int64_t first = values_[i].axes.has_position() ? first_position : 0;
      kernel.bind(slots[i], buffers_[i].at(first * block_size(i)));
    }
  }

 private:
  int64_t num_indices(size_t i, const KernelCall& batch) const {
    return values_[i].axes.has_position() ? batch.num_positions : batch.num_sequences;
  }
  int64_t block_size(size_t i) const {
    int64_t size = 1;
    const Shape& shape = values_[i].shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      size *= shape[axis] == kLength ? max_length_ : shape[axis];
    return size;
  }

  std::vector<PlacedValue> values_;
  std::vector<RealBuffer> buffers_;
  int64_t max_length_ = 0;
};

}  // namespace scry
