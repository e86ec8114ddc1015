// Memory for kernels: numbers in the program's precision.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "compiler/program.h"

namespace scry {

/// Bytes aligned to a cache line, as vector loads like it. They are set and copied as a whole: a
/// std::vector with an allocator of its own goes byte by byte where the compiler does not see
/// through it, as under sanitizers.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t size) { reset(size); }
  AlignedBytes(const AlignedBytes& other) { *this = other; }
  AlignedBytes(AlignedBytes&& other) noexcept { swap(other); }
  AlignedBytes& operator=(const AlignedBytes& other) {
    if (this == &other) return *this;
    if (capacity_ < other.size_) AlignedBytes(Capacity{other.size_}).swap(*this);
    size_ = other.size_;
    if (size_ > 0) std::memcpy(data(), other.data(), size_);
    return *this;
  }
  AlignedBytes& operator=(AlignedBytes&& other) noexcept {
    AlignedBytes(std::move(other)).swap(*this);
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  void clear() {
    if (size_ > 0) std::memset(data(), 0, size_);
  }
  /// So many zeros.
  void reset(size_t size) {
    if (capacity_ < size) AlignedBytes(Capacity{size}).swap(*this);
    size_ = size;
    clear();
  }
  /// Becomes larger by zeros.
  void grow(size_t size) {
    if (size <= size_) return;
    if (capacity_ < size) {
      AlignedBytes larger(Capacity{std::max(size, 2 * size_)});
      if (size_ > 0) std::memcpy(larger.data(), data(), size_);
      larger.size_ = size_;
      larger.swap(*this);
    }
    std::memset(data() + size_, 0, size - size_);
    size_ = size;
  }
  void swap(AlignedBytes& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Capacity {
    size_t bytes;
  };
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, kAlignment); }
  };
  explicit AlignedBytes(Capacity capacity)
      : bytes_(static_cast<std::byte*>(::operator new(capacity.bytes, kAlignment))),
        capacity_(capacity.bytes) {}

  std::unique_ptr<std::byte, Free> bytes_;
  size_t size_ = 0, capacity_ = 0;
};

/// A vector of floats or doubles, as the program's kernels take them.
class RealBuffer {
 public:
  RealBuffer() = default;
  RealBuffer(Precision precision, int64_t size)
      : precision_(precision), size_(size), bytes_(bytes_for(size)) {}

  int64_t size() const { return size_; }
  Precision precision() const { return precision_; }
  double get(int64_t i) const {
    return precision_ == Precision::kDouble ? as<double>()[i] : static_cast<double>(as<float>()[i]);
  }
  void set(int64_t i, double value) {
    if (precision_ == Precision::kDouble) {
      as<double>()[i] = value;
    } else {
      as<float>()[i] = static_cast<float>(value);
    }
  }
  void add(int64_t i, double value) { set(i, get(i) + value); }
  void clear() { bytes_.clear(); }
  /// Grows or shrinks, and holds zeros.
  void reset(int64_t size) {
    size_ = size;
    bytes_.reset(bytes_for(size));
  }
  /// Becomes larger by zeros, or stays as it is.
  void grow(int64_t size) {
    if (size <= size_) return;
    size_ = size;
    bytes_.grow(bytes_for(size));
  }
  /// Calls f with the address of the elements, a float* or a double*: for loops without a branch an
  /// element.
  template <class F>
  decltype(auto) visit(F&& f) {
    return precision_ == Precision::kDouble ? f(as<double>()) : f(as<float>());
  }
  template <class F>
  decltype(auto) visit(F&& f) const {
    return precision_ == Precision::kDouble ? f(as<double>()) : f(as<float>());
  }
  /// Adds `count` numbers of `other`, of the same precision, from `from` on to those from `first`
  /// on.
  void add(int64_t first, const RealBuffer& other, int64_t from, int64_t count);
  /// The address of element i.
  void* at(int64_t i = 0) { return bytes_.data() + static_cast<size_t>(i) * element_size(); }
  const void* at(int64_t i = 0) const {
    return bytes_.data() + static_cast<size_t>(i) * element_size();
  }

 private:
  size_t element_size() const {
    return precision_ == Precision::kDouble ? sizeof(double) : sizeof(float);
  }
  size_t bytes_for(int64_t size) const { return static_cast<size_t>(size) * element_size(); }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes_.data());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes_.data());
  }

  Precision precision_ = Precision::kFloat;
  int64_t size_ = 0;
  AlignedBytes bytes_;
};

}  // namespace scry
