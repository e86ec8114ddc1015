#include "compiler/codegen.h"

#include <fmt/format.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <chrono>

#include "base/error.h"
#include "compiler/emit.h"
#include "compiler/enzyme.h"
#include "compiler/math_emitter.h"

namespace scry {
namespace {

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(start_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::unique_ptr<llvm::TargetMachine> make_target_machine() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    throw Error("LLVM does not know this machine: " + llvm::toString(builder.takeError()));
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  builder->setRelocationModel(llvm::Reloc::PIC_);
  auto machine = builder->createTargetMachine();
  if (!machine)
    throw Error("LLVM has no code generator for this machine: " +
                llvm::toString(machine.takeError()));
  return std::move(*machine);
}

/// `void NAME(ptr call)`: loads the fields of KernelCall and calls the emitted function, or has
/// Enzyme differentiate it.
class WrapperEmitter {
 public:
  explicit WrapperEmitter(llvm::Module& module) : module_(module), b_(module.getContext()) {}

  void emit(const KernelPlan& plan, llvm::Function* inner) {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    auto* wrapper =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, plan.name, module_);
    wrapper->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", wrapper));
    llvm::Value* call = wrapper->getArg(0);
    // KernelCall: four i64, then three pointers.
    std::vector<llvm::Value*> sizes;
    for (unsigned i = 0; i < 4; ++i) sizes.push_back(load(b_.getInt64Ty(), call, i));
    for (unsigned i = 4; i < 6; ++i) sizes.push_back(load(b_.getPtrTy(), call, i));
    llvm::Value* args = load(b_.getPtrTy(), call, 6);
    std::vector<llvm::Value*> slots;
    for (unsigned i = 0; i < plan.slots.size(); ++i) slots.push_back(load(b_.getPtrTy(), args, i));
    if (plan.by_enzyme) {
      differentiate(plan, inner, sizes, slots);
    } else {
      sizes.insert(sizes.end(), slots.begin(), slots.end());
      b_.CreateCall(inner, sizes);
    }
    b_.CreateRetVoid();
  }

 private:
  llvm::Value* load(llvm::Type* type, llvm::Value* base, unsigned word) {
    return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), base, word));
  }
  llvm::Value* activity(const char* name) {
    llvm::Constant* global = module_.getOrInsertGlobal(name, b_.getInt32Ty());
    return b_.CreateLoad(b_.getInt32Ty(), global);
  }
  void differentiate(const KernelPlan& plan, llvm::Function* inner,
                     const std::vector<llvm::Value*>& sizes,
                     const std::vector<llvm::Value*>& slots) {
    std::vector<llvm::Value*> args{inner};
    for (llvm::Value* size : sizes) args.push_back(activity("enzyme_const")), args.push_back(size);
    for (size_t i = 0; i < plan.shadow.size(); ++i) {
      const int shadow = plan.shadow[i];
      args.push_back(activity(shadow < 0         ? "enzyme_const"
                              : plan.unneeded[i] ? "enzyme_dupnoneed"
                                                 : "enzyme_dup"));
      args.push_back(slots[i]);
      if (shadow >= 0) args.push_back(slots[static_cast<size_t>(shadow)]);
    }
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, true);
    b_.CreateCall(module_.getOrInsertFunction("__enzyme_autodiff." + plan.name, type), args);
  }

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
};

class Generator {
 public:
  explicit Generator(const CodegenRequest& request)
      : request_(request), machine_(make_target_machine()), module_("scry", context_) {
    module_.setTargetTriple(machine_->getTargetTriple().str());
    module_.setDataLayout(machine_->createDataLayout());
  }

  std::vector<char> run(CodegenTimes& times) {
    Stopwatch watch;
    emit();
    show("emitted");
    times.emit = watch.lap();
    if (has_enzyme()) {
      run_enzyme();
      show("differentiated");
    }
    times.enzyme = watch.lap();
    expand_math(module_);
    run_pipeline(nullptr);
    show("optimized");
    times.optimize = watch.lap();
    std::vector<char> object = emit_object();
    times.codegen = watch.lap();
    return object;
  }

 private:
  bool has_enzyme() const {
    return std::any_of(request_.kernels.begin(), request_.kernels.end(),
                       [](const KernelPlan& p) { return p.by_enzyme; });
  }

  void show(const char* when) const {
    if (!request_.on_ir) return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_.print(stream, nullptr);
    request_.on_ir(when, stream.str());
  }

  void emit() {
    WrapperEmitter wrappers(module_);
    for (const KernelPlan& plan : request_.kernels) {
      llvm::Function* inner = emit_function(module_, plan.graph, plan.schedule, plan.name + ".body",
                                            request_.precision, request_.num_tags, plan.active);
      wrappers.emit(plan, inner);
    }
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (llvm::verifyModule(module_, &stream)) throw Error("Scry emitted bad code: " + stream.str());
    set_target(module_);
  }
  void set_target(llvm::Module& module) const {
    for (llvm::Function& f : module) {
      if (f.isDeclaration()) continue;
      f.addFnAttr("target-cpu", machine_->getTargetCPU());
      f.addFnAttr("target-features", machine_->getTargetFeatureString());
    }
  }

  /// Errors reach us as diagnostics, after which Enzyme goes on: collect them and give up
  /// ourselves.
  void run_enzyme() {
    std::vector<std::string> errors;
    context_.setDiagnosticHandlerCallBack(
        [](const llvm::DiagnosticInfo* info, void* context) {
          if (info->getSeverity() != llvm::DS_Error) return;
          std::string text;
          llvm::raw_string_ostream stream(text);
          llvm::DiagnosticPrinterRawOStream printer(stream);
          info->print(printer);
          static_cast<std::vector<std::string>*>(context)->push_back(stream.str());
        },
        &errors);
    auto plugin = llvm::PassPlugin::Load(request_.enzyme_path);
    if (!plugin)
      throw Error("the Enzyme plugin cannot be loaded: " + llvm::toString(plugin.takeError()));
    run_pipeline(&*plugin);
    context_.setDiagnosticHandlerCallBack(nullptr, nullptr);
    if (!errors.empty())
      throw Error("Enzyme: " + errors.front().substr(0, errors.front().find('\n')));
    mark_gradients();
  }

  /// Enzyme does not mark shadows noalias; without it their loops stay scalar. Every slot is a
  /// buffer of its own, so it holds. Bodies are kept out of their wrappers, which would weaken it
  /// to metadata.
  void mark_gradients() {
    for (llvm::Function& f : module_) {
      if (f.isDeclaration() || f.getName().find("diffe") != 0) continue;
      for (llvm::Argument& arg : f.args()) {
        if (arg.getType()->isPointerTy()) arg.addAttr(llvm::Attribute::NoAlias);
      }
      f.removeFnAttr(llvm::Attribute::AlwaysInline);
      f.addFnAttr(llvm::Attribute::NoInline);
    }
    for (const char* name : {"cblas_slascl", "cblas_dlascl"})
      remove_clearing(module_.getFunction(name));
    for (const char* name : {"cblas_sgemm", "cblas_dgemm"})
      remove_forward(module_.getFunction(name));
    set_target(module_);
  }

  /// After the reverse of C = AB, Enzyme clears the shadow of C, for programs that write C again.
  /// Ours write every buffer once, so nobody reads that shadow any more.
  static void remove_clearing(llvm::Function* scale) {
    if (scale == nullptr) return;
    for (llvm::User* user : llvm::make_early_inc_range(scale->users())) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      const auto* factor = llvm::dyn_cast<llvm::ConstantFP>(call->getArgOperand(5));
      if (factor != nullptr && factor->isZero()) call->eraseFromParent();
    }
  }

  /// Products that need not be computed before their reverse: those that are given (if they were
  /// computed, it would be to the same value), and those that nothing reads.
  static void remove_forward(llvm::Function* gemm) {
    if (gemm == nullptr) return;
    for (llvm::User* user : llvm::make_early_inc_range(gemm->users())) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      if (!call->getFunction()->getName().starts_with("diffe")) continue;
      const auto* to =
          llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(call->getArgOperand(12)));
      if (to == nullptr || to->getName().ends_with("'")) continue;  // a shadow
      if (to->getName().starts_with(kKept) || to->getName().starts_with(kUnread))
        call->eraseFromParent();
    }
  }

  /// With a plugin, its pass `enzyme` alone; else O3.
  void run_pipeline(llvm::PassPlugin* plugin) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager sccs;
    llvm::ModuleAnalysisManager modules;
    // Loops over a few vectors gain nothing from unrolling, and it doubles the time to compile.
    llvm::PipelineTuningOptions tuning;
    tuning.LoopUnrolling = false;
    llvm::PassBuilder builder(machine_.get(), tuning);
    if (plugin != nullptr) plugin->registerPassBuilderCallbacks(builder);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(sccs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, sccs, modules);
    llvm::ModulePassManager passes;
    if (plugin != nullptr) {
      if (auto error = builder.parsePassPipeline(passes, "enzyme")) {
        throw Error("the plugin has no pass 'enzyme': " + llvm::toString(std::move(error)));
      }
    } else {
      for (llvm::Function& f : module_) {
        if (f.getName().ends_with(".body")) f.addFnAttr(llvm::Attribute::NoInline);
      }
      passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
    }
    passes.run(module_, modules);
  }

  std::vector<char> emit_object() {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    if (machine_->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
      throw Error("LLVM cannot write object code for this machine");
    }
    passes.run(module_);
    return {bytes.begin(), bytes.end()};
  }

  const CodegenRequest& request_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::LLVMContext context_;
  llvm::Module module_;
};

}  // namespace

std::vector<char> generate_object(const CodegenRequest& request, CodegenTimes& times) {
  for (const KernelPlan& plan : request.kernels) {
    if (!plan.by_enzyme) continue;
    if (const std::string problem = check_enzyme_plugin(request.enzyme_path); !problem.empty()) {
      throw Error(
          fmt::format("the Enzyme plugin {} cannot be used: {}", request.enzyme_path, problem));
    }
    break;
  }
  return Generator(request).run(times);
}

std::string host_cpu() { return llvm::sys::getHostCPUName().str(); }
std::string host_features() {
  std::vector<std::string> names;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (feature.second) names.push_back(feature.first().str());
  }
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ","));
}
std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace scry
