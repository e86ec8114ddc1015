// Results go to standard output or, whole or not at all, to a file; all else to standard error.
#pragma once
#include <string>
#include <string_view>

#include "base/error.h"

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

/// Results as they come: to standard output at once; or to a file, which they replace when all are
/// there. Until then they are in a file without a name beside it, of which nothing is left if the
/// program ends before. A device or pipe is written at once.
class ResultStream {
 public:
  /// To `path`, or to standard output if it is empty. Throws Error, also if the file could not be
  /// written in the end, as far as can be told.
  explicit ResultStream(std::string path);
  ~ResultStream();
  ResultStream(const ResultStream&) = delete;
  ResultStream& operator=(const ResultStream&) = delete;
  void write(std::string_view text);
  /// After the last of them.
  void finish();

 private:
  std::string path_;
  int file_ = -1;             // of what was written so far, where there is a path
  bool is_in_place_ = false;  // it is the device itself
};

}  // namespace scry::cli
