#include "compiler/cache.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>
#include <llvm/Support/xxhash.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/own_folder.h"
#include "compiler/cache_prune.h"

namespace scry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "scry kernel 1\n";

std::string digest(std::string_view bytes) {
  const auto hash =
      llvm::SHA256::hash(llvm::arrayRefFromStringRef(llvm::StringRef(bytes.data(), bytes.size())));
  return llvm::toHex(hash, true);
}

/// magic, key, digest of the object (each hex digest 64 characters), object.
constexpr size_t kHeader = kMagic.size() + 64 + 64;

std::string check(const std::string& bytes, const std::string& key) {
  if (!bytes.starts_with(kMagic)) return "is not a kernel file";
  if (bytes.size() < kHeader) return "is cut off";
  if (bytes.compare(kMagic.size(), 64, key) != 0) return "belongs to another program";
  if (bytes.compare(kMagic.size() + 64, 64, digest(std::string_view(bytes).substr(kHeader))) != 0)
    return "is damaged";
  return "";
}

std::string name_of(const std::string& key) { return key.substr(0, 32) + ".kernels"; }

}  // namespace

std::string default_cache_folder() {
  if (const char* folder = std::getenv("SCRY_CACHE"); folder != nullptr && *folder != '\0')
    return std::string_view(folder) == "off" ? "" : folder;
  // A relative one is invalid, says the XDG specification.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return (fs::path(cache) / "scry").string();
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return (fs::path(home) / ".cache" / "scry").string();
  }
  return "";
}

std::string cache_refusal(const std::string& folder) {
  errno = 0;
  const OwnFolder opened(folder);
  std::string fault = opened.refusal();
  if (fault.empty() && !opened.is_open() && errno != ENOENT)
    fault = fmt::format("cannot be written ({})", std::strerror(errno));
  if (fault.empty()) return "";
  return fmt::format("the cache {} is not used, as it {}; make it yours alone, or set SCRY_CACHE",
                     folder, fault);
}

std::string quick_digest(std::string_view bytes) {
  const llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::arrayRefFromStringRef(llvm::StringRef(bytes.data(), bytes.size())));
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string cache_key(std::span<const std::string> parts) {
  std::string all;
  for (const std::string& part : parts) all += fmt::format("{}:", part.size()) + part;
  return digest(all);
}

std::string KernelCache::file_of(const std::string& key) const {
  return (fs::path(folder_) / name_of(key)).string();
}

std::optional<std::vector<char>> KernelCache::load(const std::string& key,
                                                   std::string& problem) const {
  const OwnFolder folder(folder_);
  if (!folder.is_open()) return std::nullopt;
  std::string fault;
  const Descriptor file = folder.open(name_of(key), fault);
  if (file.is_open()) {
    const std::string bytes = read_whole(file).value_or("");
    fault = check(bytes, key);
    if (fault.empty()) {
      mark_used(file);
      return std::vector<char>(bytes.begin() + kHeader, bytes.end());
    }
    folder.remove(name_of(key));
  }
  if (!fault.empty())
    problem = fmt::format("the cached kernel {} {}; compiling again", file_of(key), fault);
  return std::nullopt;
}

std::string KernelCache::store(const std::string& key, std::span<const char> object) const {
  const OwnFolder folder = OwnFolder::make(folder_);
  std::string bytes = std::string(kMagic) + key + digest({object.data(), object.size()});
  bytes.append(object.begin(), object.end());
  if (!folder.is_open() || !folder.write(name_of(key), bytes, 0644)) {
    const std::string reason =
        folder.refusal().empty() ? std::strerror(errno) : "it " + folder.refusal();
    return fmt::format("the kernel cache {} cannot be written ({}); the next start compiles again",
                       folder_, reason);
  }
  std::string problem;
  prune_cache(folder_, cache_size_limit(problem));
  return problem;
}

}  // namespace scry
