// States of many prefixes or sequences, one row each.
#pragma once
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernels/bound_kernel.h"

namespace scry {

/// What a scan of the encoder carries from position to position: components "0", "1", ….
inline std::vector<Component> scan_components(const ScanStage& scan) {
  std::vector<Component> components;
  for (size_t i = 0; i < scan.sizes.size(); ++i)
    components.push_back({std::to_string(i), Type::real({scan.sizes[i]})});
  return components;
}
/// An encoding at one position.
inline std::vector<Component> feature_components(const Program& program) {
  std::vector<Component> components;
  for (const auto& [name, size] : program.features)
    components.push_back({name, Type::real({size})});
  return components;
}

/// Bytes of one row of a component, as kernels take it, or of all.
inline size_t row_bytes(const Program& program, const Component& component) {
  return static_cast<size_t>(component.type.shape.size()) *
         (component.type.is_int() ? sizeof(int32_t) : program.real_size());
}
inline size_t row_bytes(const Program& program, std::span<const Component> components) {
  size_t total = 0;
  for (const Component& c : components) total += row_bytes(program, c);
  return total;
}

/// One buffer per component of a state, laid out as kernels take them: rows end to end.
class StateRows {
 public:
  StateRows() = default;
  StateRows(const Program& program, std::span<const Component> components) {
    for (const Component& c : components) parts_.push_back({row_bytes(program, c), {}});
  }

  size_t num_parts() const { return parts_.size(); }
  int64_t num_rows() const { return num_rows_; }
  /// Bytes of all rows.
  size_t num_bytes() const {
    size_t total = 0;
    for (const Part& part : parts_) total += part.row_bytes;
    return total * static_cast<size_t>(num_rows_);
  }
  /// New rows are undefined or zero.
  void resize(int64_t num_rows) {
    num_rows_ = num_rows;
    for (Part& part : parts_) part.bytes.grow(part.row_bytes * static_cast<size_t>(num_rows));
  }
  /// All rows hold zeros.
  void clear() {
    if (num_rows_ == 0) return;
    for (Part& part : parts_)
      std::memset(part.bytes.data(), 0, part.row_bytes * static_cast<size_t>(num_rows_));
  }
  /// Null if there never were rows: they may be bound to kernels that do not read them.
  void* at(size_t part, int64_t row) { return parts_[part].at(row); }
  const void* at(size_t part, int64_t row) const { return parts_[part].at(row); }
  /// All rows become those of `source`, which has the same components.
  void copy_rows(const StateRows& source) {
    resize(source.num_rows());
    if (num_rows_ == 0) return;
    for (size_t p = 0; p < parts_.size(); ++p)
      std::memcpy(at(p, 0), source.at(p, 0), parts_[p].row_bytes * static_cast<size_t>(num_rows_));
  }
  /// The rows of `source`, which has the same components, come after those that there are.
  void append_rows(const StateRows& source) {
    const int64_t first = num_rows_;
    resize(first + source.num_rows());
    if (source.num_rows() == 0) return;
    for (size_t p = 0; p < parts_.size(); ++p) {
      std::memcpy(at(p, first), source.at(p, 0),
                  parts_[p].row_bytes * static_cast<size_t>(source.num_rows()));
    }
  }
  /// These rows, from `to` on, become copies of `count` of `source`'s, from `from` on.
  void copy_rows(int64_t to, const StateRows& source, int64_t from, int64_t count) {
    if (count == 0) return;
    for (size_t p = 0; p < parts_.size(); ++p) {
      std::memcpy(at(p, to), source.at(p, from), parts_[p].row_bytes * static_cast<size_t>(count));
    }
  }
  /// This row `to` becomes a copy of `source`'s row `from`.
  void copy_row(int64_t to, const StateRows& source, int64_t from) {
    for (size_t p = 0; p < parts_.size(); ++p)
      std::memcpy(at(p, to), source.at(p, from), parts_[p].row_bytes);
  }

 private:
  struct Part {
    size_t row_bytes;
    AlignedBytes bytes;
    const std::byte* at(int64_t row) const {
      return bytes.empty() ? nullptr : bytes.data() + row_bytes * static_cast<size_t>(row);
    }
    std::byte* at(int64_t row) { return const_cast<std::byte*>(std::as_const(*this).at(row)); }
  };
  std::vector<Part> parts_;
  int64_t num_rows_ = 0;
};

/// The slots PREFIX.NAME of a kernel for a state's components.
class StateSlots {
 public:
  StateSlots() = default;
  StateSlots(const BoundKernel& kernel, const std::string& prefix,
             std::span<const Component> components) {
    for (const Component& c : components) slots_.push_back(kernel.find(prefix + c.name));
  }
  /// To `rows`, from its row `first` on. Rows without components bind nothing.
  void bind(BoundKernel& kernel, const StateRows& rows, int64_t first = 0) const {
    for (size_t p = 0; p < rows.num_parts(); ++p) kernel.bind(slots_[p], rows.at(p, first));
  }

 private:
  std::vector<SlotHandle> slots_;
};

}  // namespace scry
