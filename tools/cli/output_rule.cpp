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

/// The options that name a file to write, as far as they are given.
std::vector<const CLI::Option*> outputs_of(const CLI::App& command) {
  std::vector<const CLI::Option*> outputs;
  for (const char* name : {"--output", "--csv"}) {
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
  if (!fs::is_regular_file(path, error)) return;
  for (const CLI::Option* option : command.get_options()) {
    if (option == &output || !option->get_type_name().starts_with("FILE")) continue;
    for (const std::string& value : option->results()) {
      if (fs::equivalent(path, value, error)) refuse_loss(output, option->get_name());
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

}  // namespace

void check_output(const CLI::App& command) {
  if (command.get_option_no_throw("--resume") != nullptr) return;
  const std::vector<const CLI::Option*> outputs = outputs_of(command);
  for (const CLI::Option* output : outputs) {
    if (output != outputs.front() && output->results() == outputs.front()->results())
      refuse_loss(*output, outputs.front()->get_name());
    check(command, *output);
  }
}

void check_output(const CLI::App& command, const std::vector<Setting>& settings) {
  std::error_code error;
  for (const CLI::Option* output : outputs_of(command)) {
    for (const Setting& setting : settings) {
      if (setting.is_file && fs::equivalent(output->results().front(), setting.value, error))
        refuse_loss(*output, "the setting " + setting.name);
    }
  }
}

}  // namespace scry::cli
