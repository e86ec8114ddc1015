// Ctrl-C, for commands that have something to save before they end.
#pragma once
#include <csignal>

namespace scry::cli {

/// While it lives, the first SIGINT or SIGTERM is only remembered, and the second of its kind ends
/// the process as it does by default. A signal that was ignored (as under nohup) stays ignored. One
/// object at a time: a handler has no argument, so what it saw is in a global variable.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// SIGINT or SIGTERM; 0 if none came. May be asked by any thread.
  int received() const;

 private:
  struct sigaction old_interrupt_ {
  }, old_terminate_{};
};

}  // namespace scry::cli
