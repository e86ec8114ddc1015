// Compiles kernel plans and runs them on named values, for comparison with the reference.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "compiler/jit.h"
#include "compiler/kernel_plan.h"
#include "compiler/reference.h"
#include "tests/support/guarded_buffer.h"

namespace scry::test {

/// Kernels compiled without a cache.
class Compiled {
 public:
  Compiled(std::vector<KernelPlan> plans, Precision precision, int num_tags);

  /// Runs the kernel `name`. `inputs` holds inputs and seeds; gradients start from 0. A kernel that
  /// touches memory outside its buffers crashes.
  Values run(const std::string& name, const Extent& extent, const Values& inputs) const;

 private:
  template <class Real>
  Values run_as(const KernelPlan& plan, const Extent& extent, const Values& inputs,
                GuardedBuffer::Guard guard) const;

  std::vector<KernelPlan> plans_;
  Precision precision_;
  int num_tags_;
  std::unique_ptr<LoadedCode> code_;
};

bool has_enzyme();
/// Prints what ctest recognises as skipped, and returns true, if there is no Enzyme plugin.
bool skip_without_enzyme();

}  // namespace scry::test
