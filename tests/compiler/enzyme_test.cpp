#include "compiler/enzyme.h"

#include <dlfcn.h>

#include "compiler/compile.h"
#include "tests/catch.h"
#include "tests/support/run_kernel.h"
#include "tests/support/small_models.h"
#include "tests/support/temp_folder.h"

using namespace scry;
using namespace scry::test;

namespace {

/// The bytes of a shared library, as far as check_enzyme_plugin looks at them.
std::string elf(const std::string& names) {
  return std::string(
             "\x7f"
             "ELF\x02\x01\x01\0\0",
             9) +
         names + '\0';
}

/// A shared library of this machine that is no plugin.
std::string some_library() {
  Dl_info found{};
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "getenv"), &found) != 0);
  return found.dli_fname;
}

struct Compiling {
  std::vector<std::string> warnings;
  CompileOptions options{.use_cache = false};
  Compiling() {
    options.warn = [this](const std::string& message) { warnings.push_back(message); };
  }
  Program run(Differentiator differentiator) {
    options.differentiator = differentiator;
    return compile(SmallTagger(), options);
  }
};

}  // namespace

TEST_CASE("Enzyme is switched off by SCRY_ENZYME=off", "[enzyme]") {
  const ScopedEnv env("SCRY_ENZYME", "off");
  const EnzymeSearch search = find_enzyme();
  CHECK(search.path == "");
  CHECK(search.reason == "switched off by SCRY_ENZYME=off");
}

TEST_CASE("a plugin that SCRY_ENZYME names but is not there is not replaced by another",
          "[enzyme]") {
  const TempFolder folder;
  for (const std::string& path : {folder.file("missing.so"), folder.path()}) {
    const ScopedEnv env("SCRY_ENZYME", path);
    const EnzymeSearch search = find_enzyme();
    CHECK(search.path == "");
    CHECK(search.reason == "SCRY_ENZYME names '" + path + "', which is not a file");
  }
}

TEST_CASE("a plugin that SCRY_ENZYME names is taken, and known from others by its id", "[enzyme]") {
  const TempFolder folder;
  const std::string path = folder.write("LLVMEnzyme-19.so", "a plugin");
  const ScopedEnv env("SCRY_ENZYME", path);
  const EnzymeSearch search = find_enzyme();
  CHECK(search.path == path);
  CHECK(search.reason == "named by SCRY_ENZYME");
  folder.write("LLVMEnzyme-19.so", "another plugin");
  CHECK(find_enzyme().id != search.id);
}

TEST_CASE("without SCRY_ENZYME the plugin is looked for by LLVM's version", "[enzyme]") {
  const TempFolder folder;
  const ScopedEnv env("SCRY_ENZYME", std::nullopt),
      libraries("LD_LIBRARY_PATH", "/nowhere::" + folder.path());
  folder.write("LLVMEnzyme-7.so", "for another LLVM");
  CHECK(find_enzyme().path.find(folder.path()) == std::string::npos);
  const std::string path = folder.write("LLVMEnzyme-" + llvm_major() + ".so", "for this LLVM");
  CHECK(find_enzyme().path == path);
  CHECK(find_enzyme().reason == "found in " + folder.path());
}

TEST_CASE("a file that cannot be a plugin for this LLVM is told by what is wrong with it",
          "[enzyme]") {
  const TempFolder folder;
  const auto fault = [&](const std::string& name, const std::string& bytes) {
    return check_enzyme_plugin(folder.write(name, bytes));
  };
  const std::string ours = llvm_major();
  CHECK(check_enzyme_plugin(folder.file("missing")) == "it cannot be read");
  CHECK(check_enzyme_plugin(folder.path()) == "it cannot be read");
  CHECK(fault("text", "#!/bin/sh\n") == "it is not a shared library");
  CHECK(fault("empty", "") != "");
  CHECK(fault("a.so", elf("libLLVM.so.14.0")) == "it is for LLVM 14, but Scry uses LLVM " + ours);
  CHECK(fault("b.so", elf("libLLVM-15.so.1")) == "it is for LLVM 15, but Scry uses LLVM " + ours);
  CHECK(fault("c.so", elf("libc.so.6") + "libLLVM.so.9") ==
        "it is for LLVM 9, but Scry uses LLVM " + ours);
  CHECK(fault("d.so", elf("libLLVM.so." + ours + ".1")) == "");
  CHECK(fault("e.so", elf("libLLVM-" + ours + ".so.1")) == "");
  CHECK(fault("ClangEnzyme-12.so", elf("")) == "its name says LLVM 12, but Scry uses LLVM " + ours);
  CHECK(fault("LLVMEnzyme-" + ours + ".so", elf("")) == "");
}

TEST_CASE("the plugin in use passes the check", "[enzyme]") {
  if (skip_without_enzyme()) return;
  CHECK(check_enzyme_plugin(find_enzyme().path) == "");
}

TEST_CASE("with a bad plugin the adjoint is used, with one line of warning", "[enzyme]") {
  const TempFolder folder;
  for (const std::string& path :
       {folder.write("text.so", "text"), folder.write("old.so", elf("libLLVM.so.14")),
        folder.write("cut.so", elf("")), some_library()}) {
    const ScopedEnv env("SCRY_ENZYME", path);
    Compiling compiling;
    const Program program = compiling.run(Differentiator::kAuto);
    CHECK(program.differentiator == "adjoint");
    CHECK(static_cast<bool>(program.advance.gradient));
    REQUIRE(compiling.warnings.size() == 1);
    INFO(compiling.warnings[0]);
    CHECK(compiling.warnings[0].find(path) != std::string::npos);
    CHECK(compiling.warnings[0].ends_with("; using the built-in adjoint"));
    CHECK(compiling.warnings[0].find('\n') == std::string::npos);
  }
}

TEST_CASE("if Enzyme itself is asked for, a bad or missing plugin is an error of one line",
          "[enzyme]") {
  const TempFolder folder;
  for (const std::string& path :
       {folder.write("text.so", "text"), folder.write("old.so", elf("libLLVM.so.14")),
        folder.write("cut.so", elf("")), folder.file("missing.so"), some_library()}) {
    const ScopedEnv env("SCRY_ENZYME", path);
    Compiling compiling;
    try {
      compiling.run(Differentiator::kEnzyme);
      FAIL("no error");
    } catch (const Error& error) {
      const std::string message = error.what();
      INFO(message);
      CHECK(message.find(path) != std::string::npos);
      CHECK(message.find('\n') == std::string::npos);
    }
    CHECK(compiling.warnings.empty());
  }
  const ScopedEnv env("SCRY_ENZYME", "off");
  CHECK_THROWS_WITH(Compiling().run(Differentiator::kEnzyme),
                    "Enzyme was asked for, but there is none: switched off by SCRY_ENZYME=off");
}

TEST_CASE("Enzyme is not looked for where it is not wanted", "[enzyme]") {
  const TempFolder folder;
  const ScopedEnv env("SCRY_ENZYME", folder.write("text.so", "text"));
  Compiling compiling;
  CHECK(compiling.run(Differentiator::kAdjoint).differentiator == "adjoint");
  compiling.options.gradients = false;
  CHECK(compiling.run(Differentiator::kAuto).differentiator == "none");
  CHECK(compiling.run(Differentiator::kEnzyme).differentiator == "none");
  CHECK(compiling.warnings.empty());
}

TEST_CASE("Enzyme is used where its plugin is found", "[enzyme]") {
  if (skip_without_enzyme()) return;
  Compiling compiling;
  CHECK(compiling.run(Differentiator::kAuto).differentiator == "enzyme");
  CHECK(compiling.warnings.empty());
}
