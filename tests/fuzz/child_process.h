// Runs a program with given streams, limits of time and memory, and looks at how it ended.
#pragma once
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temp_folder.h"

namespace scry::test {

struct ChildOptions {
  std::string folder;  ///< where it runs
  std::string in = "/dev/null", out, err;
  int max_seconds = 120;
  int max_gigabytes = 0;  ///< of address space; 0: no limit
};

struct ChildResult {
  int exit_code = -1;  ///< -1 if a signal ended it
  int signal = 0;
  bool timed_out = false;
};

/// Streams are files, opened as they are named; output files are replaced.
inline ChildResult run_child(const std::vector<std::string>& words, const ChildOptions& options) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (options.max_gigabytes > 0) {
      const rlimit memory{static_cast<rlim_t>(options.max_gigabytes) << 30,
                          static_cast<rlim_t>(options.max_gigabytes) << 30};
      setrlimit(RLIMIT_AS, &memory);
    }
    const auto redirect = [](const std::string& file, int flags, int stream) {
      const int opened = open(file.c_str(), flags, 0600);
      if (opened < 0 || dup2(opened, stream) < 0) _exit(127);
      close(opened);
    };
    redirect(options.in, O_RDONLY, STDIN_FILENO);
    redirect(options.out, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect(options.err, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    if (chdir(options.folder.c_str()) != 0) _exit(127);
    execv(argv[0], argv.data());
    _exit(127);
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(options.max_seconds);
  ChildResult result;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (!result.timed_out && Clock::now() > end) {
      result.timed_out = true;
      kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace scry::test
