#include "base/stale_files.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

using namespace scry;
namespace fs = std::filesystem;

namespace {

/// The number of a process that was and is no more.
std::string dead_process() {
  const pid_t process = fork();
  if (process == 0) _exit(0);
  waitpid(process, nullptr, 0);
  return std::to_string(process);
}

std::vector<std::string> sorted_names(const test::TempFolder& folder) {
  std::vector<std::string> names = folder.names();
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("temporaries of dead processes go, and nothing else does") {
  const test::TempFolder folder;
  const std::string dead = dead_process(), alive = std::to_string(getppid());
  std::vector<std::string> kept{"c",
                                "c.tmp",
                                "c." + alive + ".tmp",
                                "c." + alive + ".x1.tmp",
                                "c." + std::to_string(getpid()) + ".tmp",
                                "c." + dead,
                                "c." + dead + "x.tmp",
                                "c." + dead + ".tmp.bak",
                                "c." + dead + "..tmp",
                                "c." + dead + ".a-b.tmp",
                                "c." + dead + ".a.b.tmp",
                                "c.0" + dead + ".tmp",
                                "c.-" + dead + ".tmp",
                                "c.0.tmp",
                                "c.99999999999999999999.tmp",
                                "c." + dead + ".txt",
                                "cc." + dead + ".tmp",
                                "other." + dead + ".tmp",
                                "c.notes.tmp"};
  for (const std::string& name : kept) folder.write(name, "mine");
  fs::create_directory(folder.file("c." + dead + ".folder.tmp"));
  fs::create_symlink(folder.file("c"), folder.file("c." + dead + ".link.tmp"));
  kept.push_back("c." + dead + ".folder.tmp");
  kept.push_back("c." + dead + ".link.tmp");
  std::sort(kept.begin(), kept.end());
  for (const std::string& name : {"c." + dead + ".tmp", "c." + dead + ".tQ_9.tmp"})
    folder.write(name, "half");
  remove_stale_temporaries(folder.file("c"));
  CHECK(sorted_names(folder) == kept);
  remove_stale_temporaries(folder.file("none/c"));
  remove_stale_temporaries("");
  remove_stale_temporaries("/");
}

TEST_CASE("the temporaries of a link are those of the file that it names") {
  const test::TempFolder folder;
  const std::string dead = dead_process();
  fs::create_directory(folder.file("there"));
  folder.write("there/real", "");
  fs::create_symlink("there/real", folder.file("link"));
  folder.write("there/real." + dead + ".tmp", "half");
  folder.write("link." + dead + ".tmp", "no temporary of anything");
  remove_stale_temporaries(folder.file("link"));
  CHECK_FALSE(fs::exists(folder.file("there/real." + dead + ".tmp")));
  CHECK(fs::exists(folder.file("link." + dead + ".tmp")));
}

// In a container, every run may have the same number.
TEST_CASE("a temporary that is older than the process of its number is stale") {
  const test::TempFolder folder;
  const std::string path = folder.write("c." + std::to_string(getpid()) + ".tmp", "half");
  remove_stale_temporaries(folder.file("c"));
  CHECK(fs::exists(path));
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(24 * 365 * 10));
  remove_stale_temporaries(folder.file("c"));
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a process that is over but not waited for is dead") {
  const test::TempFolder folder;
  const pid_t process = fork();
  if (process == 0) _exit(0);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT);
  const std::string path = folder.write("c." + std::to_string(process) + ".tmp", "half");
  remove_stale_temporaries(folder.file("c"));
  CHECK_FALSE(fs::exists(path));
  waitpid(process, nullptr, 0);
}

TEST_CASE("folders of dead processes go when they are old, and nothing else does") {
  const test::TempFolder folder;
  const std::string dead = dead_process(), alive = std::to_string(getpid());
  const auto make = [&](const std::string& name, int hours) {
    fs::create_directory(folder.file(name));
    folder.write(name + "/half", "");
    fs::last_write_time(folder.file(name),
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  std::vector<std::string> kept{"b-" + dead,         "b-" + dead + "-",   "b-" + dead + "-a-b",
                                "b-x" + dead + "-Q", "b--" + dead + "-Q", "b-0" + dead + "-Q",
                                "bb-" + dead + "-Q", "c-" + dead + "-Q",  "b." + dead + "-Q",
                                "b-notes-Q",         "b-" + dead + "-Q.x"};
  for (const std::string& name : kept) make(name, 2);
  for (const std::string& name : {"b-" + dead + "-new", "b-" + alive + "-new"}) {
    make(name, 0);
    kept.push_back(name);
  }
  folder.write("b-" + dead + "-file", "no folder");
  fs::create_directory_symlink(folder.file("b-notes-Q"), folder.file("b-" + dead + "-link"));
  kept.insert(kept.end(), {"b-" + dead + "-file", "b-" + dead + "-link"});
  make("b-" + dead + "-Q_9", 2);
  make("b-" + alive + "-Q", 24 * 400);  // an older process of that number
  remove_stale_folders(folder.path(), "b");
  std::sort(kept.begin(), kept.end());
  CHECK(sorted_names(folder) == kept);
  CHECK(fs::exists(folder.file("b-notes-Q/half")));
  remove_stale_folders(folder.file("none"), "b");

  const fs::path made = make_temporary_folder(folder.path(), "b");
  CHECK(made.filename().string().starts_with("b-" + alive + "-"));
  CHECK(fs::status(made).permissions() == fs::perms::owner_all);
  fs::last_write_time(made, fs::file_time_type::clock::now() - std::chrono::hours(24 * 400));
  remove_stale_folders(folder.path(), "b");
  CHECK_FALSE(fs::exists(made));
  CHECK(make_temporary_folder(folder.file("none"), "b").empty());
}
