// Results go to standard output or, whole or not at all, to a file; all else to standard error.
#pragma once
#include <string>
#include <string_view>

namespace scry::cli {

/// To `path`, or to standard output if it is empty. Throws Error. Where nobody reads standard
/// output any more, ends the program without a word, as SIGPIPE does.
void write_result(const std::string& path, std::string_view text);

/// Writes a line to standard error, on one line whatever it holds. That nobody can read it is no
/// reason to fail.
void tell(std::string line);

}  // namespace scry::cli
