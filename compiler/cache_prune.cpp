#include "compiler/cache_prune.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <regex>
#include <vector>

#include "base/own_folder.h"

namespace scry {
namespace {

constexpr uint64_t kDefaultBytes = 2'000'000'000;
constexpr time_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
constexpr time_t kKeptUnused = 30 * kDay;
constexpr time_t kInUse = 10 * kMinute;
constexpr time_t kLongestWrite = kHour;
/// Of a model file's name, in its programs' names.
constexpr long kMaxStem = 64;

enum class Kind : uint8_t { kNotOurs, kStored, kTemporary };

/// By the names that KernelCache, ModelBuilder and NewFile give.
Kind kind_of(const std::string& name, bool in_models) {
  static const std::regex kernels(R"(^[0-9a-f]{32}\.kernels(\.\d+\.[0-9a-f]{1,16}\.tmp)?$)");
  static const std::regex models(R"(-[0-9a-f]{32}(?:\.deps|\.log)?(\.\d+\.[0-9a-f]{1,16}\.tmp)?$)");
  std::smatch match;
  if (!std::regex_search(name, match, in_models ? models : kernels)) return Kind::kNotOurs;
  if (in_models && (match.position(0) < 1 || match.position(0) > kMaxStem)) return Kind::kNotOurs;
  return match[1].matched ? Kind::kTemporary : Kind::kStored;
}

struct Entry {
  const OwnFolder* folder;
  std::string name;
  Kind kind;
  uint64_t bytes;
  time_t used;
};

void list(const OwnFolder& folder, bool in_models, std::vector<Entry>& entries) {
  // fdopendir takes the descriptor over, and its place in the folder.
  const int own = openat(folder.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(own < 0 ? nullptr : fdopendir(own), closedir);
  if (!listing) return;
  while (const dirent* item = readdir(listing.get())) {
    const Kind kind = kind_of(item->d_name, in_models);
    if (kind == Kind::kNotOurs) continue;
    struct stat status {};
    if (fstatat(folder.descriptor(), item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) continue;
    entries.push_back(
        {&folder, item->d_name, kind, static_cast<uint64_t>(status.st_size), status.st_mtime});
  }
}

}  // namespace

void prune_cache(const std::string& path, uint64_t max_bytes) {
  const OwnFolder folder(path);
  if (!folder.is_open()) return;
  const OwnFolder models = folder.inside("models", false);
  std::vector<Entry> entries;
  list(folder, false, entries);
  if (models.is_open()) list(models, true, entries);
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  uint64_t total = 0;
  for (const Entry& entry : entries) total += entry.bytes;
  const time_t now = std::time(nullptr);
  for (const Entry& entry : entries) {
    const time_t age = now - entry.used;
    const bool is_old = age > (entry.kind == Kind::kTemporary ? kLongestWrite : kKeptUnused);
    if (!is_old && (total <= max_bytes || age < kInUse || entry.kind == Kind::kTemporary)) continue;
    entry.folder->remove(entry.name);
    total -= entry.bytes;
  }
}

uint64_t cache_size_limit(std::string& problem) {
  const char* text = std::getenv("SCRY_CACHE_SIZE");
  if (text == nullptr || *text == '\0') return kDefaultBytes;
  static constexpr std::array<std::pair<const char*, double>, 5> kUnits{
      {{"", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}};
  static const std::regex size(R"((\d{1,12}(?:\.\d{1,12})?) ?([kMGT]B)?)");
  std::cmatch match;
  if (std::regex_match(text, match, size)) {
    for (const auto& [unit, factor] : kUnits) {
      if (match[2] == unit) return static_cast<uint64_t>(std::stod(match[1]) * factor);
    }
  }
  problem = fmt::format("SCRY_CACHE_SIZE is not a size such as 500MB; the cache may grow to {} GB",
                        kDefaultBytes / 1'000'000'000);
  return kDefaultBytes;
}

}  // namespace scry
