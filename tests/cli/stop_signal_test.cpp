#include "tools/cli/stop_signal.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/catch.h"

using scry::cli::StopSignal;

namespace {

/// The status of a process of its own that runs this.
template <class Run>
int status_of(Run run) {
  const pid_t process = fork();
  if (process == 0) {
    run();
    _exit(0);
  }
  int status = 0;
  waitpid(process, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("the first signal is remembered, and the second ends the process") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const int once = status_of([&] {
      const StopSignal stop;
      if (stop.received() != 0) _exit(1);
      raise(signal);
      _exit(stop.received() == signal ? 0 : 2);
    });
    CHECK((WIFEXITED(once) && WEXITSTATUS(once) == 0));
    const int twice = status_of([&] {
      const StopSignal stop;
      raise(signal);
      raise(signal);
    });
    CHECK((WIFSIGNALED(twice) && WTERMSIG(twice) == signal));
  }
}

TEST_CASE("writing where nobody reads is an error and not the end") {
  const int status = status_of([] {
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    close(ends[0]);
    {
      const StopSignal stop;
      if (write(ends[1], "x", 1) != -1 || stop.received() != 0) _exit(2);
    }
    [[maybe_unused]] const auto last = write(ends[1], "x", 1);
    _exit(3);
  });
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE));
}

TEST_CASE("afterwards signals do what they did before, and ignored ones stay ignored") {
  const int after = status_of([] {
    std::signal(SIGINT, SIG_DFL);
    { const StopSignal stop; }
    raise(SIGINT);
  });
  CHECK((WIFSIGNALED(after) && WTERMSIG(after) == SIGINT));
  const int ignored = status_of([] {
    std::signal(SIGINT, SIG_IGN);
    const StopSignal stop;
    raise(SIGINT);
    _exit(stop.received());
  });
  CHECK((WIFEXITED(ignored) && WEXITSTATUS(ignored) == 0));
}
