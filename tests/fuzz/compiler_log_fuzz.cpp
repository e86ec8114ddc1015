#include "tests/fuzz/reader_fuzz.h"
#include "tools/cli/compiler_log.h"

using namespace scry;

/// The input is a compiler's output, and a Makefile rule.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = test::text_of(data, size);
  const std::string error = cli::first_error(text, "model.cpp");
  test::demand(!error.empty() && error.find('\n') == std::string::npos, "an error is one line");
  for (const std::string& file : cli::parse_dependencies(text))
    test::demand(!file.empty() && file.size() <= text.size(), "a dependency is a name of the rule");
  return 0;
}
