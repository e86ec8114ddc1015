#include "compiler/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

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

}  // namespace

std::string default_cache_folder() {
  if (const char* folder = std::getenv("SCRY_CACHE"); folder != nullptr && *folder != '\0')
    return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return (fs::path(cache) / "scry").string();
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return (fs::path(home) / ".cache" / "scry").string();
  }
  return "";
}

std::string cache_key(std::span<const std::string> parts) {
  std::string all;
  for (const std::string& part : parts) all += fmt::format("{}:", part.size()) + part;
  return digest(all);
}

std::string KernelCache::file_of(const std::string& key) const {
  return (fs::path(folder_) / (key.substr(0, 32) + ".kernels")).string();
}

std::optional<std::vector<char>> KernelCache::load(const std::string& key,
                                                   std::string& problem) const {
  const std::string path = file_of(key);
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream content;
  content << file.rdbuf();  // not by iterators, which throw where a folder has this name
  const std::string bytes = content.str();
  if (const std::string fault = check(bytes, key); !fault.empty()) {
    problem = fmt::format("the cached kernel {} {}; compiling again", path, fault);
    std::error_code ignored;
    fs::remove(path, ignored);
    return std::nullopt;
  }
  return std::vector<char>(bytes.begin() + kHeader, bytes.end());
}

std::string KernelCache::store(const std::string& key, std::span<const char> object) const {
  // A name that no other thread or process writes to.
  static std::atomic<int> count = 0;
  const std::string path = file_of(key);
  const std::string beside = fmt::format("{}.{}.{}.tmp", path, getpid(), count++);
  const auto failed = [&] {
    const std::string reason = std::strerror(errno);
    unlink(beside.c_str());
    return fmt::format("the kernel cache {} cannot be written ({}); the next start compiles again",
                       folder_, reason);
  };
  std::error_code error;
  fs::create_directories(folder_, error);
  const std::string header = std::string(kMagic) + key + digest({object.data(), object.size()});
  const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return failed();
  const auto write_all = [&](std::span<const char> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = write(file, bytes.data(), bytes.size());
      if (written < 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return true;
  };
  const bool complete = write_all(header) && write_all(object) && fsync(file) == 0;
  if (close(file) != 0 || !complete || rename(beside.c_str(), path.c_str()) != 0) return failed();
  return "";
}

}  // namespace scry
