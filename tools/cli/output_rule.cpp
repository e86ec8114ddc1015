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

constexpr std::string_view kOutput = "--output";

/// By its beginning: a length, and a JSON object.
bool is_safetensors(const std::string& path) {
  std::array<char, 9> start{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(start.data(), start.size())) return false;
  uint64_t length = 0;
  std::memcpy(&length, start.data(), sizeof length);
  return length <= 100'000'000 && start.back() == '{';
}

/// Of an option that names a file to write.
void check_path(const CLI::App& command, const char* name) {
  const CLI::Option* output = command.get_option_no_throw(name);
  if (output == nullptr || output->count() == 0) return;
  if (name == kOutput && command.get_option_no_throw("--resume") != nullptr) return;
  const std::string& path = output->results().front();
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return;  // such as a device
  for (const CLI::Option* option : command.get_options()) {
    // FILE, perhaps with what it must be; or such as PARAMETER=FILE.
    const std::string type = option->get_type_name();
    const bool is_pair = type.ends_with("=FILE");
    if (option == output || !(is_pair || type.starts_with("FILE"))) continue;
    for (const std::string& value : option->results()) {
      if (!is_same_file(path, is_pair ? value.substr(value.find('=') + 1) : value)) continue;
      throw UsageError(fmt::format("{} and {} are the same file '{}', which would be lost", name,
                                   option->get_name(), path));
    }
  }
  if (!fs::is_regular_file(path, error)) return;
  // A report is no result that --overwrite is about.
  const CLI::Option* overwrite =
      name == kOutput ? command.get_option_no_throw("--overwrite") : nullptr;
  if (overwrite == nullptr && is_safetensors(path)) {
    throw UsageError(
        fmt::format("'{}' holds parameters, which would be lost; give another file", path));
  }
  if (overwrite != nullptr && overwrite->count() == 0) {
    throw UsageError(
        fmt::format("'{}' exists; give another file, or replace it by --overwrite", path));
  }
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const fs::path full_a = fs::weakly_canonical(fs::absolute(a), error);
  const fs::path full_b = fs::weakly_canonical(fs::absolute(b), error);
  return !error && full_a == full_b;
}

void check_output(const CLI::App& command) {
  check_path(command, "--output");
  check_path(command, "--report");
}

}  // namespace scry::cli
