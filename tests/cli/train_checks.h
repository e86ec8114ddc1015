// What the tests of `fit` and `learn` check alike.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry::test {

/// The JSON lines, without the seconds, in which two runs may differ.
inline std::vector<nlohmann::json> epochs_of(const std::string& text) {
  std::vector<nlohmann::json> epochs;
  for (const std::string& line : lines_of(text)) {
    epochs.push_back(nlohmann::json::parse(line));
    CHECK(epochs.back().erase("seconds") == 1);
  }
  return epochs;
}

/// The files of the sandbox, but for what the shell left.
inline std::map<std::string, std::string> files_in(const Sandbox& box) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(box.path("."))) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name != ".out" && name != ".err")
      files.emplace(name, read_file(entry.path()));
  }
  return files;
}

struct Fault {
  std::string command;
  int exit_code;
  std::string message;
};

/// That each is one line with its message, and that no file is made, changed or gone.
inline void check_faults(const Sandbox& box, const std::vector<Fault>& faults) {
  const auto before = files_in(box);
  for (const Fault& fault : faults) {
    const auto result = box.program(fault.command);
    CAPTURE(fault.command, result.err);
    CHECK(result.exit_code == fault.exit_code);
    CHECK(result.out.empty());
    CHECK(lines_of(result.err).size() == 1);
    CHECK(result.err.find(fault.message) != std::string::npos);
    CHECK(files_in(box) == before);
  }
}

}  // namespace scry::test
