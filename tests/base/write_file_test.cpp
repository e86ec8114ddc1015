#include "base/write_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <csignal>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

using namespace scry;

namespace {

struct stat status_of(const std::string& path) {
  struct stat status {};
  lstat(path.c_str(), &status);
  return status;
}

/// What write_file says in a process of its own that `prepare` has changed; "" if it succeeds.
template <class Prepare>
std::string fault_after(Prepare prepare, const std::string& path, const std::string& bytes) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string fault;
    try {
      prepare();
      write_file(path, bytes);
    } catch (const std::exception& error) {
      fault = error.what();
    }
    _exit(write(ends[1], fault.data(), fault.size()) == static_cast<ssize_t>(fault.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string fault(1000, '\0');
  const ssize_t count = read(ends[0], fault.data(), fault.size());
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  fault.resize(static_cast<size_t>(std::max<ssize_t>(0, count)));
  return fault;
}

void become_nobody() {
  if (setgid(65534) != 0 || setuid(65534) != 0) throw std::runtime_error("cannot become nobody");
}

}  // namespace

TEST_CASE("a replaced file keeps its mode, and a new one has the user's") {
  const test::TempFolder folder;
  const mode_t old_mask = umask(022);
  write_file(folder.file("new"), "x");
  CHECK((status_of(folder.file("new")).st_mode & 07777) == 0644);
  for (const mode_t mode : {0600u, 0640u, 0755u, 0666u}) {
    chmod(folder.file("new").c_str(), mode);
    write_file(folder.file("new"), "y");
    CHECK((status_of(folder.file("new")).st_mode & 07777) == mode);
  }
  umask(old_mask);
}

TEST_CASE("a replaced file keeps its extended attributes") {
  const test::TempFolder folder;
  const std::string file = folder.write("file", "old");
  if (setxattr(file.c_str(), "user.origin", "lab", 3, 0) != 0) {
    WARN("SKIPPED: this file system has no extended attributes");
    return;
  }
  write_file(file, "new");
  char value[10];
  REQUIRE(getxattr(file.c_str(), "user.origin", value, sizeof value) == 3);
  CHECK(std::string(value, 3) == "lab");
}

TEST_CASE("root that replaces a user's file leaves it the user's") {
  if (geteuid() != 0) {
    WARN("SKIPPED: only root can");
    return;
  }
  const test::TempFolder folder;
  const std::string file = folder.write("file", "old");
  REQUIRE(chown(file.c_str(), 4711, 4712) == 0);
  write_file(file, "new");
  CHECK(status_of(file).st_uid == 4711);
  CHECK(status_of(file).st_gid == 4712);
}

TEST_CASE("a link planted at the temporary's old name is not written through") {
  const test::TempFolder folder;
  folder.write("victim", "precious");
  const std::string planted = "file." + std::to_string(getpid()) + ".tmp";
  std::filesystem::create_symlink("victim", folder.file(planted));
  write_file(folder.file("file"), "new");
  check_writable(folder.file("file"));
  CHECK(test::read_bytes(folder.file("victim")) == "precious");
  CHECK(test::read_bytes(folder.file("file")) == "new");
  CHECK(folder.names().size() == 3);
}

TEST_CASE("links to links and to what is not there yet are followed, but not in circles") {
  const test::TempFolder folder;
  std::filesystem::create_directory(folder.file("inside"));
  std::filesystem::create_symlink("inside/second", folder.file("first"));
  std::filesystem::create_symlink("../new", folder.file("inside/second"));
  write_file(folder.file("first"), "x");
  CHECK(test::read_bytes(folder.file("new")) == "x");
  CHECK(std::filesystem::is_symlink(folder.file("first")));
  CHECK(std::filesystem::is_symlink(folder.file("inside/second")));
  std::filesystem::create_symlink("b", folder.file("a"));
  std::filesystem::create_symlink("a", folder.file("b"));
  CHECK_THROWS_WITH(write_file(folder.file("a"), "x"),
                    folder.file("a") + " cannot be written: Too many levels of symbolic links");
}

TEST_CASE("another user's link in a shared folder is not followed") {
  if (geteuid() != 0) {
    WARN("SKIPPED: only root can give links away");
    return;
  }
  const test::TempFolder folder;
  folder.write("victim", "precious");
  std::filesystem::create_directory(folder.file("shared"));
  chmod(folder.file("shared").c_str(), 01777);
  const std::string link = folder.file("shared/out");
  std::filesystem::create_symlink(folder.file("victim"), link);
  REQUIRE(lchown(link.c_str(), 4711, 4711) == 0);
  CHECK_THROWS_WITH(write_file(link, "x"), Catch::StartsWith(link + " cannot be written: "));
  CHECK(test::read_bytes(folder.file("victim")) == "precious");
  REQUIRE(lchown(link.c_str(), geteuid(), getegid()) == 0);
  write_file(link, "x");
  CHECK(test::read_bytes(folder.file("victim")) == "x");
}

TEST_CASE("a file that the user made read-only is not replaced") {
  const test::TempFolder folder;
  const std::string file = folder.write("file", "old");
  chmod(file.c_str(), 0444);
  chmod(folder.path().c_str(), 0777);
  const auto prepare = [] {
    if (geteuid() == 0) become_nobody();
  };
  CHECK(fault_after(prepare, file, "new") == file + " cannot be written: Permission denied");
  CHECK(test::read_bytes(file) == "old");
  CHECK(folder.names().size() == 1);
}

TEST_CASE("a folder that cannot be written is one line, and nothing is left in it") {
  const test::TempFolder folder;
  chmod(folder.path().c_str(), 0555);
  const auto prepare = [] {
    if (geteuid() == 0) become_nobody();
  };
  CHECK(fault_after(prepare, folder.file("file"), "new") ==
        folder.file("file") + " cannot be written: Permission denied");
  CHECK(folder.names().empty());
  chmod(folder.path().c_str(), 0755);
}

TEST_CASE("a file beyond the disk's or the user's limit is one line, and nothing is left of it") {
  const test::TempFolder folder;
  const std::string file = folder.write("file", "old");
  const auto prepare = [] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  CHECK(fault_after(prepare, file, std::string(5000, 'x')) ==
        file + " cannot be written: File too large");
  CHECK(test::read_bytes(file) == "old");
  CHECK(folder.names().size() == 1);
}

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
