#include "base/new_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>
#include <utility>

namespace scry {
namespace {

/// A pipe or a file system without the notion has nothing to sync.
bool sync(int file) { return fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP; }

void sync_folder_of(const std::string& target, int folder) {
  const size_t slash = target.rfind('/');
  const std::string name = slash == std::string::npos ? "." : target.substr(0, slash + 1);
  const Descriptor opened(openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.is_open()) sync(opened.get());
}

}  // namespace

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

NewFile::NewFile(const std::string& target, mode_t mode, int folder)
    : target_(target), folder_(folder) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  std::random_device random;
  for (int attempt = 0; attempt < 16 && !file_.is_open(); ++attempt) {
    name_ = fmt::format("{}.{}.{:08x}{:08x}.tmp", target, getpid(), random(), random());
    file_ = Descriptor(openat(folder, name_.c_str(), kFlags, mode));
    if (!file_.is_open() && errno != EEXIST) break;
  }
  if (!file_.is_open()) name_.clear();
}

NewFile::~NewFile() {
  if (name_.empty()) return;
  const int reason = errno;
  unlinkat(folder_, name_.c_str(), 0);
  errno = reason;
}

bool NewFile::write(std::string_view bytes) const { return write_all(file_.get(), bytes); }

bool NewFile::commit() {
  if (!sync(file_.get()) || !file_.close()) return false;
  if (renameat(folder_, name_.c_str(), folder_, target_.c_str()) != 0) return false;
  name_.clear();
  sync_folder_of(target_, folder_);
  return true;
}

}  // namespace scry
