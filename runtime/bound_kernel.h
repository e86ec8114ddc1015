// A kernel with its buffers.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "runtime/parameters.h"

namespace scry {

/// A kernel bound to parameters, tables and (for a gradient kernel) their gradients; the rest is
/// bound by name. Scratch memory is kept from call to call, so that a call allocates nothing once
/// it has grown.
class BoundKernel {
 public:
  BoundKernel() = default;
  BoundKernel(BoundKernel&&) = default;
  BoundKernel& operator=(BoundKernel&&) = default;
  BoundKernel(const Program& program, const Kernel& kernel, Parameters& parameters,
              Gradients* gradients = nullptr);

  explicit operator bool() const { return kernel_ != nullptr; }
  /// Sets the buffer of a slot. A name the kernel does not use is ignored: models differ in what
  /// they read.
  void bind(std::string_view slot, const void* data);
  /// Runs over `call`'s rows and sequences. Every slot but scratch must be bound.
  void run(KernelCall call);

 private:
  void grow(const KernelCall& call);

  const Kernel* kernel_ = nullptr;
  Precision precision_ = Precision::kFloat;
  int num_tags_ = 0;
  std::vector<void*> args_;
  std::vector<size_t> scratch_;  // slots that are ours
  RealBuffer memory_;
  KernelCall grown_for_{-1, -1, -1, nullptr, nullptr};
};

}  // namespace scry
