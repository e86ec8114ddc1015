// A kernel with its buffers.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "runtime/kernels/parameters.h"

namespace scry {

/// A slot of a BoundKernel, found once by its name. A kernel lacks what its model does not read;
/// setting such a slot does nothing.
struct SlotHandle {
  int index = -1;
};

/// Bytes of the buffers that go with one row of a kernel, scratch and results included.
size_t bytes_per_row(const Program& program, const Kernel& kernel);

/// A kernel bound to parameters, tables and (for a gradient kernel) their gradients; the rest is
/// bound by name or by handle. Scratch memory is kept from call to call, so that a call allocates
/// nothing once it has grown.
class BoundKernel {
 public:
  BoundKernel() = default;
  BoundKernel(BoundKernel&&) = default;
  BoundKernel& operator=(BoundKernel&&) = default;
  BoundKernel(const Program& program, const Kernel& kernel, const Parameters& parameters,
              Gradients* gradients = nullptr);

  explicit operator bool() const { return kernel_ != nullptr; }
  SlotHandle find(std::string_view slot) const;
  /// Sets the buffer of a slot. The kernel writes only to slots whose role says so.
  void bind(SlotHandle slot, const void* data) {
    if (slot.index >= 0) bound_[static_cast<size_t>(slot.index)] = const_cast<void*>(data);
  }
  void bind(std::string_view slot, const void* data) { bind(find(slot), data); }
  /// Gradients of parameters and tables are added here from now on.
  void bind(Gradients& gradients);
  /// Runs over `call`'s rows, positions and sequences. Every slot must be bound but scratch and
  /// what is kept.
  void run(const KernelCall& call) { run_rows(call, 0, call.num_rows); }
  /// Runs over `count` of the rows that are bound, from `first` on, and over their positions: those
  /// from the first to the last of them.
  void run_rows(const KernelCall& call, int64_t first, int64_t count);
  /// Runs a kernel without rows over all of the call's positions, in parts that a core's cache has
  /// room for; in one part if it returns, or is seeded with, what is a sequence's.
  void run_positions(const KernelCall& call);
  /// As many rows a call as a core's cache has room for, so that what one loop of the kernel writes
  /// is still there for the next; but so many that what a call reads and does for all of them, such
  /// as their sequence's values and the parameters, is little beside. From 1 to 64.
  int64_t chunk_rows() const { return chunk_rows_; }

 private:
  /// Where a part of what is bound begins.
  struct Offset {
    int64_t row = 0, position = 0, sequence = 0;
  };
  void grow(const KernelCall& call);
  int64_t choose_chunk() const;
  void narrow(KernelCall& call, Offset& offset);
  size_t block_bytes(size_t slot, const KernelCall& call) const;
  size_t offset_of(size_t slot, const KernelCall& call, const Offset& offset) const;
  void run_part(KernelCall call, const Offset& offset);

  const Kernel* kernel_ = nullptr;
  size_t real_size_ = 0;
  int num_tags_ = 0;
  int64_t chunk_rows_ = 1;
  bool has_sequence_scratch_ = false, has_sequence_results_ = false;
  std::vector<void*> bound_;       // as set
  std::vector<size_t> row_bytes_;  // from row to row, or position to position; 0 without these axes
  std::vector<void*> args_;        // of this call
  std::vector<int32_t> position_of_row_, sequence_of_position_;  // of a part
  struct Scratch {
    size_t slot;
    void* at;
  };
  std::vector<Scratch> scratch_;  // slots that are ours, or may be
  struct GradientSlot {
    size_t slot;
    int64_t offset;
    bool of_table;
  };
  std::vector<GradientSlot> gradient_slots_;  // of parameters and tables
  RealBuffer memory_;
  KernelCall grown_for_{-1, -1, -1, -1};
};

}  // namespace scry
