#include "compiler/enzyme.h"

#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <vector>

namespace scry {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> library_folders() {
  std::vector<fs::path> folders;
  if (const char* paths = std::getenv("LD_LIBRARY_PATH"); paths != nullptr) {
    std::stringstream list(paths);
    for (std::string folder; std::getline(list, folder, ':');) {
      if (!folder.empty()) folders.emplace_back(folder);
    }
  }
  if (const char* home = std::getenv("HOME"); home != nullptr)
    folders.push_back(fs::path(home) / ".local/lib");
  for (const std::string& folder :
       {std::string("/usr/local/lib"), "/usr/lib/llvm-" + llvm_major() + "/lib",
        std::string("/usr/lib/x86_64-linux-gnu"), std::string("/usr/lib/aarch64-linux-gnu"),
        std::string("/usr/lib"), std::string("/opt/homebrew/lib"),
        std::string("/home/linuxbrew/.linuxbrew/lib")}) {
    folders.emplace_back(folder);
  }
  return folders;
}

std::string identify(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  const auto time = fs::last_write_time(path, error).time_since_epoch().count();
  return fmt::format("{}-{}-{}", path.string(), size, time);
}

}  // namespace

std::string llvm_major() { return std::to_string(LLVM_VERSION_MAJOR); }

EnzymeSearch find_enzyme() {
  if (const char* chosen = std::getenv("SCRY_ENZYME"); chosen != nullptr && *chosen != '\0') {
    const std::string path = chosen;
    if (path == "off") return {"", "switched off by SCRY_ENZYME=off", ""};
    if (!fs::is_regular_file(path))
      return {"", fmt::format("SCRY_ENZYME names '{}', which is not a file", path), ""};
    return {path, "named by SCRY_ENZYME", identify(path)};
  }
  const std::string name = "LLVMEnzyme-" + llvm_major() + ".so";
  for (const fs::path& folder : library_folders()) {
    std::error_code error;
    if (fs::is_regular_file(folder / name, error)) {
      return {(folder / name).string(), fmt::format("found in {}", folder.string()),
              identify(folder / name)};
    }
  }
  return {"", fmt::format("no {} in the usual library folders; set SCRY_ENZYME to its path", name),
          ""};
}

std::string check_enzyme_plugin(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf())) return "it cannot be read";
  const std::string bytes = content.str();
  if (!bytes.starts_with("\x7f"
                         "ELF"))
    return "it is not a shared library";
  // The LLVM that it was linked against; loading a second LLVM into the process would crash it.
  constexpr std::string_view kLibrary = "libLLVM";
  for (size_t at = bytes.find(kLibrary); at != std::string::npos;
       at = bytes.find(kLibrary, at + 1)) {
    std::string_view rest = std::string_view(bytes).substr(at + kLibrary.size());
    if (rest.starts_with(".so.")) {
      rest.remove_prefix(4);
    } else if (rest.starts_with("-")) {
      rest.remove_prefix(1);
    }
    const std::string major(rest.substr(0, rest.find_first_not_of("0123456789")));
    if (!major.empty() && major != llvm_major()) {
      return fmt::format("it is for LLVM {}, but Scry uses LLVM {}", major, llvm_major());
    }
  }
  static const std::regex named(R"(Enzyme-(\d+)\.so$)");
  if (std::smatch match; std::regex_search(path, match, named) && match[1] != llvm_major()) {
    return fmt::format("its name says LLVM {}, but Scry uses LLVM {}", match[1].str(),
                       llvm_major());
  }
  return "";
}

}  // namespace scry
