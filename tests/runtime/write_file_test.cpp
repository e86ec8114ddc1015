#include "runtime/write_file.h"

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

using namespace scry;

TEST_CASE("a file is replaced through a link, and a device is written directly") {
  const test::TempFolder folder;
  folder.write("file", "old");
  std::filesystem::create_symlink("file", folder.file("link"));
  write_file(folder.file("link"), "new");
  CHECK(std::filesystem::is_symlink(folder.file("link")));
  CHECK(test::read_bytes(folder.file("file")) == "new");
  write_file("/dev/null", "nothing");
  CHECK_THROWS_WITH(write_file("/dev/full", "much"),
                    "/dev/full cannot be written: No space left on device");
  CHECK_THROWS_WITH(write_file(folder.path(), "x"), folder.path() + " is a folder");
}

TEST_CASE("a write that fails leaves the old file and nothing beside it") {
  const test::TempFolder folder;
  const std::string name(253, 'n');  // the name beside it would be too long
  folder.write(name, "old");
  CHECK_THROWS_WITH(write_file(folder.file(name), "new"),
                    folder.file(name) + " cannot be written: File name too long");
  CHECK_THROWS_WITH(write_file(folder.file("none/file"), "new"),
                    folder.file("none/file") + " cannot be written: No such file or directory");
  CHECK(folder.names() == std::vector<std::string>{name});
  CHECK(test::read_bytes(folder.file(name)) == "old");
}

TEST_CASE("whether a file can be written is told without touching it") {
  const test::TempFolder folder;
  folder.write("file", "old");
  check_writable(folder.file("file"));
  check_writable(folder.file("new"));
  check_writable("/dev/null");
  CHECK(folder.names() == std::vector<std::string>{"file"});
  CHECK(test::read_bytes(folder.file("file")) == "old");
  CHECK_THROWS_WITH(check_writable(folder.path()), folder.path() + " is a folder");
  CHECK_THROWS_WITH(check_writable(folder.file("none/file")),
                    folder.file("none/file") + " cannot be written: No such file or directory");
}
