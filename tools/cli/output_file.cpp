#include "tools/cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/write_file.h"

namespace scry::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path) {
  throw Error(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
}

/// A file without a name in the path's folder; or, where that cannot have one, in that of temporary
/// files.
int open_nameless(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  int file = open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::string name = (fs::temp_directory_path() / "scry.XXXXXX").string();
  file = mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0) unlink(name.c_str());
  return file;
}

/// The content of a file, mapped and not read.
class MappedFile {
 public:
  MappedFile(int file, const std::string& path) {
    const off_t size = lseek(file, 0, SEEK_END);
    if (size < 0) fail(path);
    size_ = static_cast<size_t>(size);
    if (size_ == 0) return;
    data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (data_ == MAP_FAILED) fail(path);
  }
  ~MappedFile() {
    if (size_ > 0) munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view text() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

ResultStream::ResultStream(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  check_writable(path_);
  std::error_code ignored;
  is_in_place_ = fs::exists(path_, ignored) && !fs::is_regular_file(path_, ignored);
  file_ = is_in_place_ ? open(path_.c_str(), O_WRONLY | O_CLOEXEC) : open_nameless(path_);
  if (file_ < 0) fail(path_);
}

ResultStream::~ResultStream() {
  if (file_ >= 0) close(file_);
}

void ResultStream::write(std::string_view text) {
  if (path_.empty()) return write_result("", text);
  while (!text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_);
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void ResultStream::finish() {
  if (path_.empty() || is_in_place_) return;
  write_file(path_, MappedFile(file_, path_).text());
}

void write_result(const std::string& path, std::string_view text) {
  if (!path.empty()) return write_file(path, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  const int reason = errno;
  const std::string message =
      fmt::format("standard output cannot be written: {}", std::strerror(reason));
  if (reason == EPIPE) throw ReaderGone(message);
  throw Error(message);
}

void tell(std::string line) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  tell_lines(line + '\n');
}

void tell_lines(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace scry::cli
