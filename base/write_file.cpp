#include "base/write_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/new_file.h"

namespace scry {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path) {
  throw Error(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
}

void write_in_place(const std::string& path, std::string_view bytes) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.is_open() || !write_all(file.get(), bytes) || !file.close()) fail(path);
}

/// In a folder where all may write but not remove, as /tmp, others leave links for us to follow.
bool is_planted(const fs::path& link) {
  struct stat itself {
  }, folder{};
  const fs::path parent = link.parent_path();
  if (lstat(link.c_str(), &itself) != 0) return false;
  if (stat(parent.empty() ? "." : parent.c_str(), &folder) != 0) return false;
  constexpr mode_t kShared = S_ISVTX | S_IWOTH;
  return (folder.st_mode & kShared) == kShared && itself.st_uid != geteuid() &&
         itself.st_uid != folder.st_uid;
}

/// The file that the path names, which need not be there.
std::string follow_links(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as the system's
  fs::path at = path;
  for (int count = 0; count < kMaxLinks; ++count) {
    std::error_code error;
    const fs::path next = fs::read_symlink(at, error);
    if (error) return at.string();
    if (is_planted(at)) {
      throw Error(
          fmt::format("{} cannot be written: it is another user's link to {}; give another file",
                      path, next.string()));
    }
    at = at.parent_path() / next;
  }
  errno = ELOOP;
  fail(path);
}

/// What a path names: a device, or the file that is replaced.
struct Target {
  explicit Target(const std::string& path) {
    struct stat found {};
    if (stat(path.c_str(), &found) == 0) {
      if (S_ISDIR(found.st_mode)) throw Error(fmt::format("{} is a folder", path));
      if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) fail(path);
      is_device = !S_ISREG(found.st_mode);
      old = found;
    }
    name = is_device ? path : follow_links(path);
  }
  /// Nobody can read the new file who could not read the old one.
  mode_t first_mode() const { return old ? 0600 : 0666; }

  bool is_device = false;
  std::optional<struct stat> old;
  std::string name;
};

/// By a system call that, without a buffer, says how long one must be.
template <class Call>
std::string read_attribute(Call call) {
  std::string value(static_cast<size_t>(std::max<ssize_t>(0, call(nullptr, 0))), '\0');
  value.resize(static_cast<size_t>(std::max<ssize_t>(0, call(value.data(), value.size()))));
  return value;
}

/// Gives the new file what the old one had besides its content. What the system does not allow is
/// left as it is for new files.
void keep_attributes(const Target& target, int file) {
  if (!target.old) return;
  struct stat made {};
  const struct stat& old = *target.old;
  if (fstat(file, &made) != 0) return;
  bool is_same_owner = made.st_uid == old.st_uid && made.st_gid == old.st_gid;
  if (!is_same_owner) is_same_owner = fchown(file, old.st_uid, old.st_gid) == 0;
  // Bits that lend the owner's rights are not for another owner.
  fchmod(file, old.st_mode & (is_same_owner ? 07777 : 0777));
  const char* path = target.name.c_str();
  const std::string names =
      read_attribute([&](char* buffer, size_t size) { return listxattr(path, buffer, size); });
  for (size_t at = 0; at < names.size(); at = names.find('\0', at) + 1) {
    const char* name = names.c_str() + at;
    const std::string value = read_attribute(
        [&](char* buffer, size_t size) { return getxattr(path, name, buffer, size); });
    fsetxattr(file, name, value.data(), value.size(), 0);
  }
}

}  // namespace

void write_file(const std::string& path, std::string_view bytes) {
  const Target target(path);
  if (target.is_device) return write_in_place(path, bytes);
  NewFile file(target.name, target.first_mode());
  if (!file.is_open()) fail(path);
  keep_attributes(target, file.descriptor());
  if (!file.write(bytes) || !file.commit()) fail(path);
}

void check_writable(const std::string& path) {
  const Target target(path);
  if (target.is_device) return write_in_place(path, "");
  if (!NewFile(target.name, target.first_mode()).is_open()) fail(path);
}

}  // namespace scry
