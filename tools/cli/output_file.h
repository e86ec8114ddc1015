// Results go to standard output or, whole or not at all, to a file; all else to standard error.
#pragma once
#include <string>
#include <string_view>

#include "dsl/error.h"

namespace scry::cli {

/// Nobody reads standard output any more. A command that has no more to do ends without a word, as
/// by SIGPIPE.
class ReaderGone : public Error {
 public:
  using Error::Error;
};

/// To `path`, or to standard output if it is empty. Throws Error.
void write_result(const std::string& path, std::string_view text);

/// Writes a line to standard error, on one line whatever it holds. That nobody can read it is no
/// reason to fail.
void tell(std::string line);

/// Likewise lines that stand as they are.
void tell_lines(std::string_view text);

}  // namespace scry::cli
