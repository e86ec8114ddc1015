// Memory for kernels: numbers in the program's precision.
#pragma once
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "compiler/program.h"

namespace scry {

/// Aligned to a cache line, as vector loads like it.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT: allocators convert
  T* allocate(size_t n) {
    return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, size_t) { ::operator delete (p, std::align_val_t{64}); }
  bool operator==(const AlignedAllocator&) const = default;
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
  void clear() { std::fill(bytes_.begin(), bytes_.end(), std::byte{0}); }
  /// Grows or shrinks, and holds zeros.
  void reset(int64_t size) {
    size_ = size;
    bytes_.assign(bytes_for(size), std::byte{0});
  }
  /// Becomes larger by zeros, or stays as it is.
  void grow(int64_t size) {
    if (size <= size_) return;
    size_ = size;
    bytes_.resize(bytes_for(size));
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
  std::vector<std::byte, AlignedAllocator<std::byte>> bytes_;
};

}  // namespace scry
