// Errors of the library: one line that says what is wrong, where, and what to do.
#pragma once
#include <stdexcept>
#include <string>

namespace scry {

/// A line of the user's source. Captured as a default argument, so it names the caller's line.
/// (std::source_location would do, but clang 14 has none.)
struct Where {
  const char* file = "";
  int line = 0;
  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// Every failure that Scry reports. `what()` is one line.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something wrong in a data file: `what()` starts with the file's name, and the line if there is
/// one.
class DataError : public Error {
 public:
  using Error::Error;
};

/// A mistake in a model file: `what()` starts with `file:line: `.
class ModelError : public Error {
 public:
  ModelError(Where where, const std::string& message);
  Where where() const { return where_; }
  /// The message without `file:line: `, so that a layer can report it at its caller's line.
  const std::string& message() const { return message_; }

 private:
  Where where_;
  std::string message_;
};

}  // namespace scry
