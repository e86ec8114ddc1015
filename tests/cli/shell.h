// Runs the real programs, as a user would.
#pragma once
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace scry::test {

inline std::string read_file(const std::filesystem::path& path) {
  return read_bytes(path.string());
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A folder of the test's own, with a kernel and model cache in it; gone when the test ends.
class Sandbox {
 public:
  std::filesystem::path path(const std::string& name) const { return folder_.file(name); }
  std::filesystem::path cache() const { return folder_.file("cache"); }

  struct Result {
    int exit_code;
    std::string out, err;
  };

  /// `words` are the shell's, run in the folder; `set` holds further NAME=value assignments.
  Result run(const std::string& words, const std::string& set = "") const {
    const std::string command = "cd '" + folder_.path() + "' && SCRY_CACHE='" + cache().string() +
                                "' " + set + " " + words + " >.out 2>.err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(path(".out")),
            read_file(path(".err"))};
  }
  /// A program of the build, such as "scry" or "lesson_01_hmm", with the built-in adjoint.
  Result program(const std::string& name_and_words,
                 const std::string& set = "SCRY_ENZYME=off") const {
    return run(SCRY_BIN_DIR "/" + name_and_words, set);
  }

 private:
  TempFolder folder_;
};

}  // namespace scry::test
