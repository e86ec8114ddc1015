// The model file that docs/reference.md is.
#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

/// The page's pieces of C++, with every other line left empty, so that errors name the page's
/// lines.
std::string code_of(const std::string& page) {
  std::string code;
  bool is_code = false;
  for (const std::string& line : test::lines_of(page)) {
    if (line.starts_with("```")) {
      is_code = line == "```cpp";
    } else if (is_code) {
      code += line;
    }
    code += '\n';
  }
  return code;
}

TEST_CASE("the reference page's code is a model file whose gradients are right") {
  const test::Sandbox box;
  const std::string code = code_of(test::read_file(test::source_dir() + "/docs/reference.md"));
  CHECK(code.find("SCRY_MODEL()") != std::string::npos);
  test::write_text(box.path("reference.cpp"), code);
  const auto result = box.program("scry check --lengths 1-4 reference.cpp", "SCRY_ENZYME=off");
  CAPTURE(result.out, result.err);
  CHECK(result.exit_code == 0);
}

}  // namespace
}  // namespace scry
