#include "base/own_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/new_file.h"

namespace scry {
namespace {

constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/// What is wrong with its owner or mode, or nothing.
std::string fault_of(const struct stat& status) {
  if (status.st_uid != geteuid() && status.st_uid != 0) return "belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("can be written by others (mode {:04o})", status.st_mode & 07777);
  }
  return "";
}

}  // namespace

OwnFolder::OwnFolder(const std::string& path)
    : OwnFolder(path, Descriptor(::open(path.c_str(), kOpenFolder))) {}

OwnFolder::OwnFolder(std::string path, Descriptor folder)
    : path_(std::move(path)), folder_(std::move(folder)) {
  struct stat status {};
  if (!folder_.is_open() || fstat(folder_.get(), &status) != 0) return;
  refusal_ = fault_of(status);
  if (!refusal_.empty()) folder_ = {};
}

OwnFolder OwnFolder::make(const std::string& path) {
  int reason = 0;  // of the outermost that cannot be made
  const auto make_one = [&](const std::string& folder) {
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST && reason == 0) reason = errno;
  };
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    make_one(path.substr(0, at));
  }
  make_one(path);
  OwnFolder folder(path);
  if (!folder.is_open() && reason != 0) errno = reason;
  return folder;
}

OwnFolder OwnFolder::inside(const std::string& name, bool make) const {
  if (make) mkdirat(folder_.get(), name.c_str(), 0700);
  return {path_ + "/" + name, Descriptor(openat(folder_.get(), name.c_str(), kOpenFolder))};
}

bool OwnFolder::is_noexec() const {
  struct statvfs status {};
  return fstatvfs(folder_.get(), &status) == 0 && (status.f_flag & ST_NOEXEC) != 0;
}

Descriptor OwnFolder::open(const std::string& name, std::string& problem) const {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(openat(folder_.get(), name.c_str(), kFlags));
  if (!file.is_open()) {
    if (errno == ELOOP) {
      problem = "is a link";
    } else if (errno != ENOENT) {
      problem = fmt::format("cannot be read ({})", std::strerror(errno));
    }
    return {};
  }
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    problem = "is not a regular file";
  } else {
    problem = fault_of(status);
  }
  return problem.empty() ? std::move(file) : Descriptor();
}

bool OwnFolder::write(const std::string& name, std::string_view bytes, unsigned mode) const {
  NewFile file(name, mode, folder_.get());
  return file.is_open() && file.write(bytes) && file.commit();
}

void OwnFolder::remove(const std::string& name) const { unlinkat(folder_.get(), name.c_str(), 0); }

std::optional<std::string> read_whole(const Descriptor& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return std::nullopt;
  // One more than there should be, to see the end.
  std::string bytes(static_cast<size_t>(status.st_size) + 1, '\0');
  size_t size = 0;
  while (true) {
    if (size == bytes.size()) bytes.resize(2 * size);  // it grew
    const ssize_t count = read(file.get(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    size += static_cast<size_t>(count);
    if (count > 0) continue;
    bytes.resize(size);
    return bytes;
  }
}

void mark_used(const Descriptor& file) { futimens(file.get(), nullptr); }

}  // namespace scry
