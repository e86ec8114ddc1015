#include "tools/cli/stop_signal.h"

#include <atomic>

namespace scry::cli {
namespace {

// The one global that changes: signals have no argument.
std::atomic<int> last_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a handler must not wait for a lock");

extern "C" void remember_signal(int signal) { last_signal.store(signal); }

void watch(int signal, struct sigaction& old) {
  sigaction(signal, nullptr, &old);
  if (old.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = remember_signal;
  sigemptyset(&action.sa_mask);
  // Writing a file goes on after the first signal; the second one finds the default action.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  last_signal = 0;
  watch(SIGINT, old_interrupt_);
  watch(SIGTERM, old_terminate_);
  watch(SIGHUP, old_hang_up_);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigemptyset(&ignore.sa_mask);
  sigaction(SIGPIPE, &ignore, &old_pipe_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  sigaction(SIGHUP, &old_hang_up_, nullptr);
  sigaction(SIGPIPE, &old_pipe_, nullptr);
}

int StopSignal::received() const { return last_signal.load(); }

}  // namespace scry::cli
