// Gradients of states, one row each.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "runtime/kernels/bound_kernel.h"

namespace scry {

/// One buffer per real component of a state, laid out as kernels take them; integers have no
/// gradient.
class RealRows {
 public:
  RealRows() = default;
  RealRows(const Program& program, std::span<const Component> components) {
    for (const Component& c : components) {
      if (!c.type.is_int())
        parts_.push_back({c.name, c.type.shape.size(), RealBuffer(program.precision, 0)});
    }
  }

  /// So many rows of zeros.
  void reset(int64_t num_rows) {
    num_rows_ = num_rows;
    for (Part& part : parts_) part.values.reset(num_rows * part.size);
  }
  /// More rows of zeros after those that there are.
  void grow(int64_t num_rows) {
    num_rows_ = num_rows;
    for (Part& part : parts_) part.values.grow(num_rows * part.size);
  }
  int64_t num_rows() const { return num_rows_; }
  size_t num_parts() const { return parts_.size(); }
  void* at(size_t part, int64_t row) { return parts_[part].values.at(row * parts_[part].size); }

  /// Adds `count` rows of `other`, of the same components.
  void add_rows(int64_t to, const RealRows& other, int64_t from, int64_t count = 1) {
    for (size_t p = 0; p < parts_.size(); ++p) {
      const int64_t size = parts_[p].size;
      parts_[p].values.add(to * size, other.parts_[p].values, from * size, count * size);
    }
  }

  /// The slots PREFIX.NAME of a kernel.
  std::vector<SlotHandle> find(const BoundKernel& kernel, const std::string& prefix) const {
    std::vector<SlotHandle> slots;
    for (const Part& part : parts_) slots.push_back(kernel.find(prefix + part.name));
    return slots;
  }
  /// To these rows, from `first` on.
  void bind(BoundKernel& kernel, std::span<const SlotHandle> slots, int64_t first = 0) {
    for (size_t p = 0; p < parts_.size(); ++p) kernel.bind(slots[p], at(p, first));
  }

 private:
  struct Part {
    std::string name;
    int64_t size;
    RealBuffer values;
  };
  std::vector<Part> parts_;
  int64_t num_rows_ = 0;
};

}  // namespace scry
