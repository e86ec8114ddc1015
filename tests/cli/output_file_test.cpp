#include "tools/cli/output_file.h"

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry::cli {
namespace {

size_t num_files(const test::Sandbox& box) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(box.path("").parent_path()))
    count += entry.is_regular_file() ? 1 : 0;
  return count;
}

TEST_CASE("a file of results appears when all are there, and a failure leaves the old one") {
  const test::Sandbox box;
  const std::string path = box.path("out.txt").string();
  test::write_text(path, "old");
  const size_t before = num_files(box);
  {
    ResultStream output(path);
    output.write("half of ");
    CHECK(test::read_file(path) == "old");
    CHECK(num_files(box) == before);
  }
  CHECK(test::read_file(path) == "old");
  ResultStream output(path);
  const std::string much(1 << 20, 'x');
  output.write("all ");
  output.write(much);
  CHECK(test::read_file(path) == "old");
  output.finish();
  CHECK((test::read_file(path) == "all " + much));
  CHECK(num_files(box) == before);
}

TEST_CASE("no results are an empty file") {
  const test::Sandbox box;
  const std::string path = box.path("out.txt").string();
  ResultStream(path).finish();
  CHECK(std::filesystem::is_regular_file(path));
  CHECK(test::read_file(path).empty());
}

TEST_CASE("a file that cannot be written is named before the work begins") {
  const test::Sandbox box;
  CHECK_THROWS_WITH(ResultStream(box.path("missing/out.txt").string()),
                    Catch::Contains("out.txt cannot be written: No such file or directory"));
}

}  // namespace
}  // namespace scry::cli
