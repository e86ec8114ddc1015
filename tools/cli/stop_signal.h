// Ctrl-C, for commands that have something to save before they end.
#pragma once
#include <csignal>

namespace scry::cli {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP (a terminal that is closed) is only
/// remembered, and the second of its kind ends the process as it does by default. A signal that was
/// ignored (as under nohup) stays ignored. SIGPIPE is ignored: to write where nobody reads is then
/// an error of the write. One object at a time: a handler has no argument, so what it saw is in a
/// global variable.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// The last that came; 0 if none did. May be asked by any thread.
  int received() const;

 private:
  struct sigaction old_interrupt_ {
  }, old_terminate_{}, old_hang_up_{}, old_pipe_{};
};

}  // namespace scry::cli
