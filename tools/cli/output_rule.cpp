#include "tools/cli/output_rule.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

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

/// The options that name a file to write, as far as they are given.
std::vector<const CLI::Option*> outputs_of(const CLI::App& command) {
  std::vector<const CLI::Option*> outputs;
  for (const char* name : {"--output", "--csv", "--report"}) {
    const CLI::Option* option = command.get_option_no_throw(name);
    if (option != nullptr && option->count() > 0 && option->get_type_name().starts_with("FILE"))
      outputs.push_back(option);
  }
  return outputs;
}

void refuse_loss(const CLI::Option& output, const std::string& other) {
  throw UsageError(fmt::format("{} and {} are the same file '{}', which would be lost",
                               output.get_name(), other, output.results().front()));
}

void check(const CLI::App& command, const CLI::Option& output) {
  const std::string& path = output.results().front();
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return;  // such as a device
  for (const CLI::Option* option : command.get_options()) {
    // FILE, perhaps with what it must be; or such as PARAMETER=FILE.
    const std::string type = option->get_type_name();
    const bool is_pair = type.ends_with("=FILE");
    if (option == &output || !(is_pair || type.starts_with("FILE"))) continue;
    for (const std::string& value : option->results()) {
      if (is_same_file(path, is_pair ? value.substr(value.find('=') + 1) : value))
        refuse_loss(output, option->get_name());
    }
  }
  if (!fs::is_regular_file(path, error)) return;
  // Tables and reports beside a result are not what --overwrite is about.
  const CLI::Option* overwrite =
      output.check_name("--output") ? command.get_option_no_throw("--overwrite") : nullptr;
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
  const bool resumes = command.get_option_no_throw("--resume") != nullptr;
  for (const CLI::Option* output : outputs_of(command)) {
    if (!resumes || !output->check_name("--output")) check(command, *output);
  }
}

void check_output(const CLI::App& command, const std::vector<Setting>& settings) {
  for (const CLI::Option* output : outputs_of(command)) {
    for (const Setting& setting : settings) {
      if (setting.is_file && is_same_file(output->results().front(), setting.value))
        refuse_loss(*output, "the setting " + setting.name);
    }
  }
}

}  // namespace scry::cli
