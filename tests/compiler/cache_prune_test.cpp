#include "compiler/cache_prune.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "compiler/cache.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

using namespace scry;
using namespace scry::test;

namespace {

constexpr uint64_t kNoLimit = UINT64_MAX;
const std::string kDigest = "0123456789abcdef0123456789abcdef";

void set_age(const std::string& path, double days) {
  const timespec then{std::time(nullptr) - static_cast<time_t>(days * 24 * 3600), 0};
  const timespec times[2]{then, then};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
}

/// A cache folder with models/ in it.
struct CacheFolder : TempFolder {
  CacheFolder() { std::filesystem::create_directory(file("models")); }
  void add(const std::string& name, double days, size_t bytes = 10) const {
    write(name, std::string(bytes, 'x'));
    set_age(file(name), days);
  }
  std::set<std::string> all() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
      if (entry.is_symlink() || !entry.is_directory())
        found.insert(entry.path().lexically_relative(path()).string());
    }
    return found;
  }
};

}  // namespace

TEST_CASE("of files unused for long, only those with names of Scry's own are removed", "[cache]") {
  const CacheFolder folder;
  const std::vector<std::string> ours{
      kDigest + ".kernels",
      kDigest + ".kernels.123.0123456789abcdef.tmp",
      "models/tagger-" + kDigest,
      "models/tagger-" + kDigest + ".deps",
      "models/tagger-" + kDigest + ".log",
      "models/a tagger-x.y-" + kDigest,
      "models/tagger-" + kDigest + ".deps.7.0123456789abcdef.tmp",
  };
  const std::set<std::string> theirs{
      "thesis.tex",
      "models/thesis.tex",
      "models/fitted.safetensors",
      "models/tagger.cpp",
      "models/tagger-2",
      "models/tagger-" + kDigest + ".safetensors",
      "models/tagger-" + kDigest.substr(1),
      "models/tagger-" + kDigest + "0",
      "models/tagger" + kDigest,
      "models/-" + kDigest,
      "models/tagger-" + kDigest.substr(1) + "G",
      "models/" + std::string(65, 'n') + "-" + kDigest,
      "models/notes.123.0123456789abcdef.tmp",
      "models/" + kDigest + ".kernels",
      "tagger-" + kDigest,
      "my.kernels",
      kDigest + ".kernels.bak",
      "x" + kDigest + ".kernels",
      kDigest,
  };
  for (const std::string& name : ours) folder.add(name, 31);
  for (const std::string& name : theirs) folder.add(name, 1000);
  prune_cache(folder.path(), 0);
  CHECK(folder.all() == theirs);
}

TEST_CASE("what was used within 30 days stays, and temporaries for as long as one may be written",
          "[cache]") {
  const CacheFolder folder;
  folder.add(kDigest + ".kernels", 29);
  folder.add("models/tagger-" + kDigest, 29);
  folder.add("models/tagger-" + kDigest + ".1.0123456789abcdef.tmp", 0.5 / 24);
  folder.add("models/tagger-" + kDigest + ".2.0123456789abcdef.tmp", 2.0 / 24);
  prune_cache(folder.path(), kNoLimit);
  CHECK(folder.all() ==
        std::set<std::string>{kDigest + ".kernels", "models/tagger-" + kDigest,
                              "models/tagger-" + kDigest + ".1.0123456789abcdef.tmp"});
}

TEST_CASE("beyond the cache's size, the least recently used files are removed first", "[cache]") {
  const CacheFolder folder;
  folder.add("models/a-" + kDigest, 4, 1000);
  folder.add(kDigest + ".kernels", 3, 1000);
  folder.add("models/b-" + kDigest, 2, 1000);
  folder.add("models/c-" + kDigest, 0, 1000);
  folder.add("models/fitted.safetensors", 5, 100000);  // not ours, so not counted
  prune_cache(folder.path(), 4000);
  CHECK(folder.all().size() == 5);
  prune_cache(folder.path(), 2999);
  CHECK(folder.all() == std::set<std::string>{"models/b-" + kDigest, "models/c-" + kDigest,
                                              "models/fitted.safetensors"});
  prune_cache(folder.path(), 0);  // one that was just made may be about to run
  CHECK(folder.all() == std::set<std::string>{"models/c-" + kDigest, "models/fitted.safetensors"});
}

TEST_CASE("links and folders with names of Scry's own are left alone, and what links name",
          "[cache]") {
  const CacheFolder folder;
  const TempFolder elsewhere;
  elsewhere.write("precious", "x");
  set_age(elsewhere.file("precious"), 100);
  std::filesystem::create_symlink(elsewhere.file("precious"),
                                  folder.file("models/tagger-" + kDigest));
  set_age(folder.file("models/tagger-" + kDigest), 100);
  std::filesystem::create_directory(folder.file(kDigest + ".kernels"));
  folder.add(kDigest + ".kernels/inside", 100);
  prune_cache(folder.path(), 0);
  CHECK(folder.all().size() == 2);
  CHECK(read_bytes(elsewhere.file("precious")) == "x");
}

TEST_CASE("nothing is removed from a folder that is not ours alone", "[cache]") {
  const CacheFolder folder;
  folder.add(kDigest + ".kernels", 31);
  folder.add("models/tagger-" + kDigest, 31);
  chmod(folder.path().c_str(), 0777);
  prune_cache(folder.path(), 0);
  CHECK(folder.all().size() == 2);
  chmod(folder.path().c_str(), 0700);
  std::filesystem::rename(folder.file("models"), folder.file("other"));
  std::filesystem::create_symlink("other", folder.file("models"));  // ours, by another name
  chmod(folder.file("other").c_str(), 0777);
  prune_cache(folder.path(), 0);
  CHECK(folder.all() == std::set<std::string>{"models", "other/tagger-" + kDigest});
  prune_cache(folder.file("missing"), 0);
  prune_cache("", 0);
}

TEST_CASE("storing a kernel removes old ones, and loading one keeps it", "[cache]") {
  const TempFolder folder;
  const KernelCache cache(folder.path());
  const auto key_of = [](const std::string& text) {
    return cache_key(std::vector<std::string>{text});
  };
  const std::vector<char> object(100, 'k');
  for (const char* name : {"old", "used"}) {
    REQUIRE(cache.store(key_of(name), object) == "");
    set_age(cache.file_of(key_of(name)), 40);
  }
  std::string problem;
  REQUIRE(cache.load(key_of("used"), problem));
  REQUIRE(cache.store(key_of("new"), object) == "");
  CHECK(cache.load(key_of("used"), problem));
  CHECK_FALSE(cache.load(key_of("old"), problem));
  CHECK(problem == "");
}

TEST_CASE("the cache's size is read from the environment, and what is no size is said", "[cache]") {
  const std::vector<std::pair<std::string, uint64_t>> sizes{{"0", 0},
                                                            {"1000", 1000},
                                                            {"500MB", 500'000'000},
                                                            {"1.5 GB", 1'500'000'000},
                                                            {"20kB", 20'000},
                                                            {"3TB", 3'000'000'000'000},
                                                            {"", 2'000'000'000}};
  for (const auto& [text, bytes] : sizes) {
    const ScopedEnv size("SCRY_CACHE_SIZE", text);
    std::string problem;
    CAPTURE(text);
    CHECK(cache_size_limit(problem) == bytes);
    CHECK(problem == "");
  }
  for (const std::string text : {"lots", "-1", "5 MB MB", "1e9", "10mb", "99999999999999999999"}) {
    const ScopedEnv size("SCRY_CACHE_SIZE", text);
    std::string problem;
    CAPTURE(text);
    CHECK(cache_size_limit(problem) == 2'000'000'000);
    CHECK(problem.find("not a size such as 500MB") != std::string::npos);
  }
}
