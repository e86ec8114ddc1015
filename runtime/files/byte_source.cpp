#include "runtime/files/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "runtime/files/sequence_layout.h"

namespace scry {
namespace {

constexpr size_t kMostBytes = 65536;  // at a time

[[noreturn]] void fail(const std::string& name) {
  throw DataError(fmt::format("{} cannot be read: {}", name, std::strerror(errno)));
}

}  // namespace

ByteSource::ByteSource(const std::string& path)
    : name_(name_of(path)),
      own_(path == "-" ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      file_(path == "-" ? STDIN_FILENO : own_.get()) {
  struct stat status {};
  if (file_ < 0 || fstat(file_, &status) != 0) fail(name_);
  if (S_ISDIR(status.st_mode)) throw DataError(fmt::format("{} is a folder", name_));
  if (S_ISREG(status.st_mode) && status.st_size > 0) size_ = status.st_size;
}

std::string ByteSource::name_of(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

std::string_view ByteSource::read() {
  bytes_.resize(kMostBytes);
  ssize_t count = -1;
  do {
    count = ::read(file_, bytes_.data(), bytes_.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) fail(name_);
  bytes_.resize(static_cast<size_t>(count));
  num_read_ += count;
  return bytes_;
}

bool ByteSource::would_wait() const {
  pollfd waited{file_, POLLIN, 0};
  return poll(&waited, 1, 0) == 0;
}

double ByteSource::part_read() const {
  if (size_ < 0) return NAN;
  return std::min(1.0, static_cast<double>(num_read_) / static_cast<double>(size_));
}

}  // namespace scry
