#include "tools/cli/output_rule.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/cli/command.h"

namespace scry::cli {
namespace {

namespace fs = std::filesystem;

/// By its beginning: a length, and a JSON object.
bool is_safetensors(const std::string& path) {
  std::array<char, 9> start{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(start.data(), start.size())) return false;
  uint64_t length = 0;
  std::memcpy(&length, start.data(), sizeof length);
  return length <= 100'000'000 && start.back() == '{';
}

}  // namespace

void check_output(const CLI::App& command) {
  const CLI::Option* output = command.get_option_no_throw("--output");
  if (output == nullptr || output->count() == 0) return;
  if (command.get_option_no_throw("--resume") != nullptr) return;
  const std::string& path = output->results().front();
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return;
  for (const CLI::Option* option : command.get_options()) {
    if (option == output || !option->get_type_name().starts_with("FILE")) continue;
    for (const std::string& value : option->results()) {
      if (!fs::equivalent(path, value, error)) continue;
      throw UsageError(fmt::format("--output and {} are the same file '{}', which would be lost",
                                   option->get_name(), path));
    }
  }
  const CLI::Option* overwrite = command.get_option_no_throw("--overwrite");
  if (overwrite == nullptr && is_safetensors(path)) {
    throw UsageError(
        fmt::format("'{}' holds parameters, which would be lost; give another file", path));
  }
  if (overwrite != nullptr && overwrite->count() == 0) {
    throw UsageError(
        fmt::format("'{}' exists; give another file, or replace it by --overwrite", path));
  }
}

}  // namespace scry::cli
