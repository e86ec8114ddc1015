// What the fuzz targets have in common. A target is a reader's file or text: it must be read, or be
// refused by one line, and nothing else.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tests/support/temp_folder.h"

/// libFuzzer's entry, which every target defines. Always returns 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace scry::test {

inline std::string text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the program, which libFuzzer and the replay take for a finding.
inline void demand(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

/// The file that a target writes its input to, in a folder of its own.
inline const std::string& write_input(std::string_view bytes) {
  static const TempFolder folder;
  static const std::string path = folder.file("input");
  folder.write("input", std::string(bytes));
  return path;
}

/// Whether the reader takes its input. A refusal is an Error of one line that is not too long;
/// other exceptions pass and end the program.
template <class Read>
bool is_read(Read read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    const std::string_view line = error.what();
    demand(!line.empty() && line.size() < 2000, "a refusal is neither empty nor endless");
    demand(line.find('\n') == std::string_view::npos, "a refusal is one line");
    return false;
  }
}

}  // namespace scry::test
