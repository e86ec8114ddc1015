#include "compiler/jit.h"

#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>

#include "base/error.h"
#include "compiler/gemm.h"

namespace scry {
namespace {

template <class T>
T value_of(llvm::Expected<T> result) {
  if (!result)
    throw Error("the compiled code cannot be loaded: " + llvm::toString(result.takeError()));
  return std::move(*result);
}
void check(llvm::Error error) {
  if (error) throw Error("the compiled code cannot be loaded: " + llvm::toString(std::move(error)));
}

}  // namespace

struct LoadedCode::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

LoadedCode::LoadedCode(std::span<const char> object) : impl_(std::make_unique<Impl>()) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  impl_->jit = value_of(llvm::orc::LLJITBuilder().create());
  llvm::orc::LLJIT& jit = *impl_->jit;
  llvm::orc::SymbolMap symbols;
  const auto define = [&](const char* name, auto* function) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  define("cblas_sgemm", &scry_cblas_sgemm);
  define("cblas_dgemm", &scry_cblas_dgemm);
  define("cblas_slascl", &scry_cblas_slascl);
  define("cblas_dlascl", &scry_cblas_dlascl);
  check(jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
  // memset, memcpy and the like.
  jit.getMainJITDylib().addGenerator(
      value_of(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit.getDataLayout().getGlobalPrefix())));
  check(jit.addObjectFile(
      llvm::MemoryBuffer::getMemBufferCopy({object.data(), object.size()}, "scry")));
}

LoadedCode::~LoadedCode() = default;

KernelFn LoadedCode::find(const std::string& name) const {
  return value_of(impl_->jit->lookup(name)).toPtr<KernelFn>();
}

}  // namespace scry
