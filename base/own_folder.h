// A folder for files of ours alone. Code that others could have put there is never run.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace scry {

/// Ours are folders and files of this user or of root that neither a group nor others can write to.
/// Files are opened in the folder that was looked at, whatever its path names later.
class OwnFolder {
 public:
  OwnFolder() = default;
  /// Opens the folder if it is there.
  explicit OwnFolder(const std::string& path);
  /// Makes it first, 0700, and the folders that it is in.
  static OwnFolder make(const std::string& path);

  bool is_open() const { return folder_.is_open(); }
  const std::string& path() const { return path_; }
  /// Why there is no using it: "… can be written by others (mode 0777)". Empty if it is ours or if
  /// it could not be opened; errno has the reason then.
  const std::string& refusal() const { return refusal_; }
  /// The folder of that name in it.
  OwnFolder inside(const std::string& name, bool make) const;
  /// Programs cannot be run from there.
  bool is_noexec() const;

  /// A regular file of ours, to be read. Never waits and follows no link. None if it is not there;
  /// else `problem` says why not.
  Descriptor open(const std::string& name, std::string& problem) const;
  /// Replaces the file, whole or not at all; false, with the reason in errno, if that failed.
  bool write(const std::string& name, std::string_view bytes, unsigned mode) const;
  void remove(const std::string& name) const;
  int descriptor() const { return folder_.get(); }

 private:
  OwnFolder(std::string path, Descriptor folder);

  std::string path_, refusal_;
  Descriptor folder_;
};

/// Everything in it, from where it stands; nothing if it cannot be read.
std::optional<std::string> read_whole(const Descriptor& file);

/// Notes that the file was used now, for those who remove what is not.
void mark_used(const Descriptor& file);

}  // namespace scry
