#include "runtime/write_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "dsl/error.h"

namespace scry {
namespace {

namespace fs = std::filesystem;

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

[[noreturn]] void fail(const std::string& path) {
  throw Error(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
}

void write_in_place(const std::string& path, std::string_view bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) fail(path);
  const bool complete = write_all(file, bytes);
  const int problem = errno;
  close(file);
  errno = problem;
  if (!complete) fail(path);
}

/// The folder's entry for a renamed file is on disk only when the folder is.
void sync_folder(const fs::path& folder) {
  const int file = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

/// The file that a path names, and the one beside it that becomes it.
struct Target {
  explicit Target(const std::string& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) throw Error(fmt::format("{} is a folder", path));
    is_device = fs::exists(path, error) && !fs::is_regular_file(path, error);
    // Through a symbolic link, the file that it names is replaced and not the link.
    const fs::path canonical = fs::weakly_canonical(path, error);
    name = error ? path : canonical.string();
    beside = fmt::format("{}.{}.tmp", name, getpid());
  }
  bool is_device;
  std::string name, beside;
};

int open_beside(const std::string& path, const Target& target) {
  const int file = open(target.beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail(path);
  return file;
}

}  // namespace

void write_file(const std::string& path, std::string_view bytes) {
  const Target target(path);
  if (target.is_device) return write_in_place(path, bytes);
  const int file = open_beside(path, target);
  bool complete = write_all(file, bytes) && fsync(file) == 0;
  complete = close(file) == 0 && complete;
  if (!complete || rename(target.beside.c_str(), target.name.c_str()) != 0) {
    const int problem = errno;
    unlink(target.beside.c_str());
    errno = problem;
    fail(path);
  }
  sync_folder(fs::path(target.name).parent_path());
}

void check_writable(const std::string& path) {
  const Target target(path);
  if (target.is_device) return write_in_place(path, "");
  close(open_beside(path, target));
  unlink(target.beside.c_str());
}

}  // namespace scry
