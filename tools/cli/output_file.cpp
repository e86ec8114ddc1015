#include "tools/cli/output_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/write_file.h"

namespace scry::cli {

void write_result(const std::string& path, std::string_view text) {
  if (!path.empty()) return write_file(path, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  const int reason = errno;
  const std::string message =
      fmt::format("standard output cannot be written: {}", std::strerror(reason));
  if (reason == EPIPE) throw ReaderGone(message);
  throw Error(message);
}

void tell(std::string line) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  tell_lines(line + '\n');
}

void tell_lines(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace scry::cli
