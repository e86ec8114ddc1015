// Memory whose neighbours may not be touched: reading or writing beyond either end is a crash.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>
#include <utility>

namespace scry::test {

class GuardedBuffer {
 public:
  /// Which end of the buffer lies at a page that may not be touched. (The other is at most a page
  /// away from one.)
  enum class Guard { kBegin, kEnd };

  GuardedBuffer(size_t bytes, Guard guard) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inside = (bytes + page - 1) / page * page;
    mapped_ = inside + 2 * page;
    void* base = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(base);
    data_ = base_ + page + (guard == Guard::kEnd ? inside - bytes : 0);
    if (inside > 0 && mprotect(base_ + page, inside, PROT_READ | PROT_WRITE) != 0) {
      munmap(base_, mapped_);
      throw std::bad_alloc();
    }
  }
  GuardedBuffer(GuardedBuffer&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), data_(other.data_), mapped_(other.mapped_) {}
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;
  ~GuardedBuffer() {
    if (base_ != nullptr) munmap(base_, mapped_);
  }

  std::byte* data() const { return data_; }

 private:
  std::byte *base_ = nullptr, *data_ = nullptr;
  size_t mapped_ = 0;
};

}  // namespace scry::test
