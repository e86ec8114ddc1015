#include "tests/fuzz/reader_fuzz.h"
#include "tools/cli/build_conf.h"

using namespace scry;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = test::text_of(data, size);
  test::is_read([&] {
    test::demand(!cli::parse_build_conf(text, "build.conf", "/usr").compiler.empty(),
                 "a build.conf that is taken names a compiler");
  });
  return 0;
}
