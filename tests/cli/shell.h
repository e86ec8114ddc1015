// Runs the real programs, as a user would.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/places.h"
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
    return result_of(std::system(command_of(words, set).c_str()));
  }
  /// A program of the build, such as "scry" or "lesson_01_hmm", with the built-in adjoint.
  Result program(const std::string& name_and_words,
                 const std::string& set = "SCRY_ENZYME=off") const {
    return run(test::bin_dir() + "/" + name_and_words, set);
  }

  /// Such a program, started and then let go on until wait() or the end of the scope.
  class Background {
   public:
    Background(const Sandbox& box, const std::string& name_and_words) : box_(box) {
      const std::string command =
          box.command_of(test::bin_dir() + "/" + name_and_words, "SCRY_ENZYME=off exec");
      process_ = fork();
      if (process_ == 0) {
        execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        _exit(127);
      }
    }
    ~Background() {
      if (process_ <= 0) return;
      send(SIGKILL);
      wait();
    }
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    void send(int signal) const { kill(process_, signal); }
    /// The exit code is -1 if a signal ended it.
    Result wait() {
      int status = 0;
      waitpid(std::exchange(process_, -1), &status, 0);
      return box_.result_of(status);
    }

   private:
    const Sandbox& box_;
    pid_t process_;
  };

 private:
  std::string command_of(const std::string& words, const std::string& set) const {
    return "cd '" + folder_.path() + "' && SCRY_CACHE='" + cache().string() + "' " + set + " " +
           words + " >.out 2>.err";
  }
  Result result_of(int status) const {
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(path(".out")),
            read_file(path(".err"))};
  }

  TempFolder folder_;
};

}  // namespace scry::test
