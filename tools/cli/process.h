// Running other programs.
#pragma once
#include <string>
#include <vector>

namespace scry::cli {

/// What a program that has ended left.
struct ProcessResult {
  int exit_code;  ///< 128 + the signal's number if one ended it, 127 if it could not be started
  std::string output;  ///< standard output and standard error
};

/// Runs argv[0] (a path, or a name in $PATH) to its end, with messages in plain English and no
/// input. The terminal's interrupt ends that program and not this one, which may have to clear up
/// first. `temporaries` is the folder for its temporary files, if not the usual one. Throws Error
/// if the system has no more processes or pipes.
ProcessResult run_process(const std::vector<std::string>& argv,
                          const std::string& temporaries = "");

}  // namespace scry::cli
