#include "tools/cli/output_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "dsl/error.h"
#include "runtime/write_file.h"

namespace scry::cli {

void write_result(const std::string& path, std::string_view text) {
  if (!path.empty()) return write_file(path, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  if (errno == EPIPE) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  throw Error(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
}

void tell(std::string line) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace scry::cli
