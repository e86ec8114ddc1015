#include "compiler/cache.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

using namespace scry;
using namespace scry::test;

namespace {

std::string key_of(const std::string& text) {
  const std::vector<std::string> parts{text};
  return cache_key(parts);
}
mode_t mode_of(const std::string& path) {
  struct stat status {};
  stat(path.c_str(), &status);
  return status.st_mode & 07777;
}
std::vector<char> object_of(size_t size, char first = 'a') {
  std::vector<char> object;
  for (size_t k = 0; k < size; ++k)
    object.push_back(static_cast<char>(first + static_cast<char>(k % 23)));
  return object;
}

}  // namespace

TEST_CASE("a stored kernel is loaded as it was", "[cache]") {
  const TempFolder folder;
  const KernelCache cache(folder.file("deep/inside"));  // made if needed
  for (size_t size : {0u, 1u, 100000u}) {
    const std::string key = key_of(std::to_string(size));
    const std::vector<char> object = object_of(size);
    CHECK(cache.store(key, object) == "");
    std::string problem;
    CHECK(cache.load(key, problem) == object);
    CHECK(problem == "");
  }
}

TEST_CASE("a kernel never stored is not there, without complaint", "[cache]") {
  const TempFolder folder;
  std::string problem;
  CHECK_FALSE(KernelCache(folder.path()).load(key_of("a"), problem));
  CHECK_FALSE(KernelCache(folder.file("missing")).load(key_of("a"), problem));
  CHECK(problem == "");
}

TEST_CASE("storing again replaces the kernel, and leaves no other file behind", "[cache]") {
  const TempFolder folder;
  const KernelCache cache(folder.path());
  const std::string key = key_of("a");
  CHECK(cache.store(key, object_of(1000)) == "");
  CHECK(cache.store(key, object_of(10, 'k')) == "");
  std::string problem;
  CHECK(cache.load(key, problem) == object_of(10, 'k'));
  CHECK(folder.names().size() == 1);
}

TEST_CASE("a kernel file cut off anywhere is refused, removed and described in one line",
          "[cache]") {
  const TempFolder folder;
  const KernelCache cache(folder.path());
  const std::string key = key_of("a");
  REQUIRE(cache.store(key, object_of(300)) == "");
  const std::string whole = read_bytes(cache.file_of(key));
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(cache.file_of(key), std::ios::binary) << whole.substr(0, size);
    std::string problem;
    const auto loaded = cache.load(key, problem);
    INFO("cut to " << size << " bytes: " << problem);
    CHECK_FALSE(loaded);
    CHECK(problem.find(cache.file_of(key)) != std::string::npos);
    CHECK(problem.find('\n') == std::string::npos);
    CHECK(problem.find("compiling again") != std::string::npos);
    CHECK(folder.names().empty());
  }
}

TEST_CASE("a kernel file with any byte changed, or more at its end, is refused", "[cache]") {
  const TempFolder folder;
  const KernelCache cache(folder.path());
  const std::string key = key_of("a");
  REQUIRE(cache.store(key, object_of(50)) == "");
  const std::string whole = read_bytes(cache.file_of(key));
  std::string problem;
  for (size_t k = 0; k < whole.size(); ++k) {
    std::string bytes = whole;
    bytes[k] = static_cast<char>(bytes[k] ^ 4);
    std::ofstream(cache.file_of(key), std::ios::binary) << bytes;
    INFO("byte " << k);
    CHECK_FALSE(cache.load(key, problem));
  }
  std::ofstream(cache.file_of(key), std::ios::binary) << whole << "x";
  CHECK_FALSE(cache.load(key, problem));
  std::ofstream(cache.file_of(key), std::ios::binary) << whole;
  CHECK(cache.load(key, problem));
}

TEST_CASE("each fault of a kernel file is named", "[cache]") {
  const TempFolder folder;
  const KernelCache cache(folder.path());
  const std::string key = key_of("a"), other = key_of("b");
  REQUIRE(cache.store(key, object_of(50)) == "");
  const std::string whole = read_bytes(cache.file_of(key));
  const auto problem_of = [&](const std::string& bytes) {
    std::ofstream(cache.file_of(key), std::ios::binary) << bytes;
    std::string problem;
    CHECK_FALSE(cache.load(key, problem));
    return problem.substr(problem.find(cache.file_of(key)) + cache.file_of(key).size());
  };
  CHECK(problem_of("#!/bin/sh\n") == " is not a kernel file; compiling again");
  CHECK(problem_of(whole.substr(0, 60)) == " is cut off; compiling again");
  CHECK(problem_of(whole.substr(0, whole.size() - 1)) == " is damaged; compiling again");
  // A file of the same name (half a key), but of another program.
  std::string foreign = whole;
  foreign.replace(foreign.find(key), key.size(), other);
  CHECK(problem_of(foreign) == " belongs to another program; compiling again");
}

TEST_CASE("a folder that cannot be written gives a problem in words", "[cache]") {
  const TempFolder folder;
  const std::string file = folder.write("file", "not a folder");
  for (const std::string& path : {file, file + "/inside"}) {
    const KernelCache cache(path);
    std::string problem;
    CHECK_NOTHROW(problem = cache.store(key_of("a"), object_of(10)));
    CHECK(problem == "the kernel cache " + path +
                         " cannot be written (Not a directory); the next start compiles again");
    CHECK_FALSE(cache.load(key_of("a"), problem = ""));
    CHECK(problem == "");
  }
  CHECK(folder.names().size() == 1);
  CHECK(read_bytes(file) == "not a folder");
}

TEST_CASE("a folder in the kernel file's place is no reason to fail", "[cache]") {
  const TempFolder folder;
  const KernelCache cache(folder.path());
  std::filesystem::create_directories(cache.file_of(key_of("a")) + "/full");
  std::string problem;
  CHECK_FALSE(cache.load(key_of("a"), problem));
  CHECK_FALSE(cache.store(key_of("a"), object_of(10)).empty());
  CHECK(folder.names().size() == 1);  // no file left beside it
}

TEST_CASE("threads may store and load one kernel at once", "[cache]") {
  const TempFolder folder;
  const KernelCache cache(folder.path());
  const std::string key = key_of("a");
  const std::vector<char> object = object_of(200000);
  std::vector<std::string> problems(4);
  std::vector<std::thread> threads;
  for (std::string& problem : problems) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10 && problem.empty(); ++k) {
        problem = cache.store(key, object);
        if (problem.empty() && cache.load(key, problem) != object) problem += "not what was stored";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) CHECK(problem == "");
  CHECK(folder.names().size() == 1);
}

TEST_CASE("processes may store and load one kernel at once", "[cache]") {
  const TempFolder folder;
  const KernelCache cache(folder.path());
  const std::string key = key_of("a");
  const std::vector<char> object = object_of(200000);
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    bool good = true;
    std::string problem;
    for (int k = 0; k < 10; ++k)
      good = cache.store(key, object).empty() && cache.load(key, problem) == object && good;
    _exit(good && problem.empty() ? 0 : 1);
  }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(folder.names().size() == 1);
}

TEST_CASE("a cache key tells parts apart, however they are joined", "[cache]") {
  const auto key = [](std::vector<std::string> parts) { return cache_key(parts); };
  CHECK(key({"a", "bc"}) == key({"a", "bc"}));
  CHECK(key({"a", "bc"}) != key({"ab", "c"}));
  CHECK(key({"a", "bc"}) != key({"abc"}));
  CHECK(key({"abc", ""}) != key({"abc"}));
  CHECK(key({"1:a", "b"}) != key({"1", "a1:b"}));
  CHECK(key({}).size() == 64);
}

TEST_CASE("the folders of a kernel cache are made for their owner alone", "[cache]") {
  const TempFolder folder;
  const mode_t old_mask = umask(0);
  CHECK(KernelCache(folder.file("deep/inside")).store(key_of("a"), object_of(10)) == "");
  umask(old_mask);
  CHECK(mode_of(folder.file("deep")) == 0700);
  CHECK(mode_of(folder.file("deep/inside")) == 0700);
  CHECK((mode_of(KernelCache(folder.file("deep/inside")).file_of(key_of("a"))) & 022) == 0);
}

TEST_CASE("a cache folder that others can write to is neither read nor written", "[cache]") {
  const TempFolder folder;
  const KernelCache cache(folder.file("cache"));
  REQUIRE(cache.store(key_of("a"), object_of(10)) == "");
  REQUIRE(cache_refusal(folder.file("cache")) == "");
  for (const unsigned mode : {0777u, 0770u, 0702u, 01777u}) {
    chmod(folder.file("cache").c_str(), mode);
    CAPTURE(mode);
    std::string problem;
    CHECK_FALSE(cache.load(key_of("a"), problem));
    CHECK(cache.store(key_of("b"), object_of(10)).find("can be written by others (mode ") !=
          std::string::npos);
    CHECK(cache_refusal(folder.file("cache")).starts_with("the cache " + folder.file("cache")));
  }
  chmod(folder.file("cache").c_str(), 0755);
  std::string problem;
  CHECK(cache.load(key_of("a"), problem) == object_of(10));
  CHECK_FALSE(cache.load(key_of("b"), problem));
}

TEST_CASE("a cache folder or kernel of another user is not used", "[cache]") {
  if (geteuid() != 0) {
    WARN("SKIPPED: only root can give files away");
    return;
  }
  const TempFolder folder;
  const KernelCache cache(folder.file("cache"));
  const std::string key = key_of("a");
  REQUIRE(cache.store(key, object_of(10)) == "");
  std::string problem;
  REQUIRE(chown(cache.file_of(key).c_str(), 4711, 4711) == 0);
  CHECK_FALSE(cache.load(key, problem));
  CHECK(problem ==
        "the cached kernel " + cache.file_of(key) + " belongs to another user; compiling again");
  CHECK(cache.store(key, object_of(20)) == "");  // replaces it
  CHECK(cache.load(key, problem) == object_of(20));
  REQUIRE(chown(folder.file("cache").c_str(), 4711, 4711) == 0);
  CHECK_FALSE(cache.load(key, problem));
  CHECK(cache.store(key, object_of(30)) != "");
  CHECK(cache_refusal(folder.file("cache")).find("belongs to another user") != std::string::npos);
}

TEST_CASE("a kernel file that is a pipe, a link or writable by others is not loaded", "[cache]") {
  const TempFolder folder;
  const KernelCache cache(folder.file("cache"));
  const std::string key = key_of("a"), path = cache.file_of(key);
  REQUIRE(cache.store(key, object_of(10)) == "");
  const auto problem_of = [&] {
    std::string problem;
    CHECK_FALSE(cache.load(key, problem));
    return problem;
  };
  chmod(path.c_str(), 0666);
  CHECK(problem_of() ==
        "the cached kernel " + path + " can be written by others (mode 0666); compiling again");
  chmod(path.c_str(), 0644);
  std::filesystem::rename(path, folder.file("elsewhere"));
  std::filesystem::create_symlink(folder.file("elsewhere"), path);
  CHECK(problem_of() == "the cached kernel " + path + " is a link; compiling again");
  std::filesystem::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(problem_of() == "the cached kernel " + path +
                            " is not a regular file; compiling again");  // and did not wait
  CHECK(cache.store(key, object_of(20)) == "");
  std::string problem;
  CHECK(cache.load(key, problem) == object_of(20));
  CHECK(read_bytes(folder.file("elsewhere")).size() > 10);
}

TEST_CASE("a planted link at a temporary's old name is not written through", "[cache]") {
  const TempFolder folder;
  const KernelCache cache(folder.file("cache"));
  REQUIRE(cache.store(key_of("other"), object_of(10)) == "");
  folder.write("victim", "precious");
  for (int count = 0; count < 100; ++count) {
    std::filesystem::create_symlink(folder.file("victim"), cache.file_of(key_of("a")) + "." +
                                                               std::to_string(getpid()) + "." +
                                                               std::to_string(count) + ".tmp");
  }
  CHECK(cache.store(key_of("a"), object_of(10)) == "");
  CHECK(read_bytes(folder.file("victim")) == "precious");
}

TEST_CASE("a full disk is a problem in words, and nothing is left beside the kernels", "[cache]") {
  const TempFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string problem = KernelCache(folder.path()).store(key_of("a"), object_of(100000));
    _exit(problem.find("cannot be written (File too large)") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(folder.names().empty());
}

TEST_CASE("the cache is where the user says, else in the home's cache folder", "[cache]") {
  const ScopedEnv scry("SCRY_CACHE", "/a"), xdg("XDG_CACHE_HOME", "/b"), home("HOME", "/c");
  CHECK(default_cache_folder() == "/a");
  const ScopedEnv off("SCRY_CACHE", "off");
  CHECK(default_cache_folder() == "");
  const ScopedEnv no_scry("SCRY_CACHE", std::nullopt);
  CHECK(default_cache_folder() == "/b/scry");
  const ScopedEnv relative_xdg("XDG_CACHE_HOME", "b");  // to be ignored, says XDG
  CHECK(default_cache_folder() == "/c/.cache/scry");
  const ScopedEnv no_xdg("XDG_CACHE_HOME", "");
  CHECK(default_cache_folder() == "/c/.cache/scry");
  const ScopedEnv no_home("HOME", std::nullopt);
  CHECK(default_cache_folder() == "");
}
