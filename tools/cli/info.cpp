#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "compiler/cache.h"
#include "compiler/codegen.h"
#include "compiler/enzyme.h"
#include "compiler/gemm.h"
#include "tools/cli/build_conf.h"
#include "tools/cli/command.h"
#include "tools/cli/model_build.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process.h"
#include "tools/cli/text.h"

namespace scry::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Those of the CPU's features that kernels are built with.
std::vector<std::string> interesting_features() {
  static constexpr std::array kNames{"sse4.2",   "avx",      "avx2", "fma",  "avx512f", "avx512bw",
                                     "avx512dq", "avx512vl", "neon", "sve2", "sve"};
  const std::string all = "," + host_features() + ",";
  std::vector<std::string> found;
  for (const char* name : kNames) {
    if (all.find(fmt::format(",{},", name)) != std::string::npos) found.emplace_back(name);
  }
  return found;
}

struct DifferentiatorChoice {
  std::string name;    ///< what `auto` uses
  std::string plugin;  ///< Enzyme's file, usable or not; or empty
  std::string reason;
};

DifferentiatorChoice choose_differentiator() {
  const EnzymeSearch search = find_enzyme();
  if (search.path.empty()) return {"adjoint", "", search.reason};
  const std::string problem = check_enzyme_plugin(search.path);
  return {problem.empty() ? "enzyme" : "adjoint", search.path,
          problem.empty() ? search.reason : problem};
}

struct FolderContent {
  std::string folder;
  uint64_t files = 0, bytes = 0;
  std::string refusal = {};  ///< why it is not used, or empty
};

template <class Wanted>
FolderContent survey(const std::string& folder, Wanted is_wanted) {
  FolderContent content{folder};
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    std::error_code gone;  // another process may remove files meanwhile
    const auto size = entry.file_size(gone);
    if (gone || !entry.is_regular_file(gone) || !is_wanted(entry)) continue;
    ++content.files;
    content.bytes += size;
  }
  return content;
}

struct CompilerChoice {
  std::string path, version;
  std::string problem;  ///< why model files cannot be built, or empty
};

CompilerChoice find_compiler() {
  try {
    const std::string path = read_build_conf().compiler;
    const ProcessResult result = run_process({path, "--version"});
    const std::string line = result.output.substr(0, result.output.find('\n'));
    if (result.exit_code != 0) return {path, "", line};
    return {path, line, ""};
  } catch (const Error& error) {
    return {"", "", error.what()};
  }
}

/// A cache that is not used has nothing to count: what is there may be anybody's.
struct Caches {
  FolderContent kernels{default_cache_folder()}, models{models_folder()};

  Caches() {
    if (kernels.folder.empty()) return;
    kernels.refusal = models.refusal = cache_refusal(kernels.folder);
    if (!kernels.refusal.empty()) return;
    kernels = survey(kernels.folder,
                     [](const auto& entry) { return entry.path().extension() == ".kernels"; });
    models.refusal = models_refusal();
    if (!models.refusal.empty()) return;
    models = survey(models.folder, [](const auto& entry) {
      std::error_code error;
      return (entry.status(error).permissions() & fs::perms::owner_exec) != fs::perms::none;
    });
  }
};

struct Info {
  DifferentiatorChoice differentiator = choose_differentiator();
  Caches caches;
  CompilerChoice compiler = find_compiler();
};

std::string show_json(const Info& info) {
  const auto content = [](const FolderContent& c) {
    return Json{
        {"folder", c.folder}, {"files", c.files}, {"bytes", c.bytes}, {"refusal", c.refusal}};
  };
  const Json json{
      {"scry", version()},
      {"llvm", llvm_version()},
      {"cpu", {{"name", host_cpu()}, {"features", interesting_features()}}},
      {"gemm", gemm_isa()},
      {"differentiator",
       {{"auto", info.differentiator.name},
        {"plugin", info.differentiator.plugin},
        {"reason", info.differentiator.reason}}},
      {"kernel_cache", content(info.caches.kernels)},
      {"model_cache", content(info.caches.models)},
      {"compiler",
       {{"path", info.compiler.path},
        {"version", info.compiler.version},
        {"problem", info.compiler.problem}}},
  };
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string show_text(const Info& info) {
  const DifferentiatorChoice& choice = info.differentiator;
  std::string gradients = fmt::format("Enzyme: {} ({})", choice.plugin, choice.reason);
  if (choice.name != "enzyme" && choice.plugin.empty()) {
    gradients = fmt::format("the built-in adjoint: {}", choice.reason);
  } else if (choice.name != "enzyme") {
    gradients =
        fmt::format("the built-in adjoint: {} cannot be used: {}", choice.plugin, choice.reason);
  }
  const auto content = [](const FolderContent& c, const char* noun) {
    if (c.folder.empty()) return std::string("none: set SCRY_CACHE to a folder");
    if (!c.refusal.empty()) return "none: " + c.refusal;
    return fmt::format("{}: {}, {}", c.folder, count_of(c.files, noun), format_bytes(c.bytes));
  };
  const CompilerChoice& compiler = info.compiler;
  TextTable table({{""}, {""}});
  table.add({"Scry", version()});
  table.add({"LLVM", llvm_version()});
  table.add({"CPU", fmt::format("{}: {}", host_cpu(), fmt::join(interesting_features(), " "))});
  table.add({"matrix kernels", gemm_isa()});
  table.add({"gradients by", gradients});
  table.add({"kernel cache", content(info.caches.kernels, "file")});
  table.add({"model cache", content(info.caches.models, "program")});
  table.add({"C++ compiler", compiler.problem.empty()
                                 ? fmt::format("{}: {}", compiler.path, compiler.version)
                                 : compiler.problem});
  return table.str(Style(false), "");
}

}  // namespace

Action declare_info(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "As one JSON object");
  return [json](const Bundle&) {
    write_result("", *json ? show_json({}) : show_text({}));
    return 0;
  };
}

}  // namespace scry::cli
