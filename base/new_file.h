// A file in the making, which becomes its target whole or not at all.
#pragma once
#include <fcntl.h>
#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace scry {

/// TARGET.PID.RANDOM.tmp, beside its target: a file made anew, never one that was there and never
/// one behind a link. What returns false leaves the reason in errno.
class NewFile {
 public:
  /// With `mode` less the umask. The target's name is relative to the open `folder`.
  NewFile(const std::string& target, mode_t mode, int folder = AT_FDCWD);
  /// Removes the file, unless it has become its target; errno stays as it was.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool is_open() const { return file_.is_open(); }
  int descriptor() const { return file_.get(); }
  bool write(std::string_view bytes) const;
  /// It is on the disk before it replaces the target, and the folder's new entry after.
  bool commit();

 private:
  std::string target_, name_;
  int folder_;
  Descriptor file_;
};

/// False, with the reason in errno, unless all was written.
bool write_all(int file, std::string_view bytes);

}  // namespace scry
