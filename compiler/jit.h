// Object code → callable kernels.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "compiler/program.h"

namespace scry {

/// Machine code in memory. Kernels live as long as it does.
class LoadedCode {
 public:
  /// Throws Error if the object is not code for this machine.
  explicit LoadedCode(std::span<const char> object);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  KernelFn find(const std::string& name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scry
