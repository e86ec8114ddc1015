#include "tools/cli/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/error.h"

extern char** environ;

namespace scry::cli {
namespace {

/// The environment with LC_ALL=C, as others read the program's messages by their English words.
std::vector<std::string> make_environment(const std::string& temporaries) {
  std::vector<std::string> variables{"LC_ALL=C"};
  if (!temporaries.empty()) variables.push_back("TMPDIR=" + temporaries);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool is_replaced =
        text.starts_with("LC_ALL=") || (!temporaries.empty() && text.starts_with("TMPDIR="));
    if (!is_replaced) variables.emplace_back(text);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

std::string read_to_end(int file) {
  std::string text;
  std::array<char, 4096> chunk;
  while (true) {
    const ssize_t count = read(file, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(chunk.data(), static_cast<size_t>(count));
  }
}

/// Interrupts are ignored until the end of the scope.
class InterruptsIgnored {
 public:
  InterruptsIgnored() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &ignore, &old_[i]);
  }
  ~InterruptsIgnored() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &old_[i], nullptr);
  }
  InterruptsIgnored(const InterruptsIgnored&) = delete;
  InterruptsIgnored& operator=(const InterruptsIgnored&) = delete;

  /// Those that end another program, unless they were ignored all along.
  sigset_t for_others() const {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    for (size_t i = 0; i < kSignals.size(); ++i) {
      if (old_[i].sa_handler != SIG_IGN) sigaddset(&signals, kSignals[i]);
    }
    return signals;
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGQUIT};
  std::array<struct sigaction, kSignals.size()> old_{};
};

}  // namespace

ProcessResult run_process(const std::vector<std::string>& argv, const std::string& temporaries) {
  const InterruptsIgnored interrupts;
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(fmt::format("{} cannot be run: {}", argv.front(), std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const sigset_t signals = interrupts.for_others();
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> arguments = argv, variables = make_environment(temporaries);
  pid_t child = 0;
  const int problem = posix_spawnp(&child, argv.front().c_str(), &actions, &attributes,
                                   pointers(arguments).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (problem != 0) {
    close(ends[0]);
    return {127, fmt::format("{} cannot be run: {}", argv.front(), std::strerror(problem))};
  }
  ProcessResult result{0, read_to_end(ends[0])};
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace scry::cli
