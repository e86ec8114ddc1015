// The bytes of a file or of standard input, as they come.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace scry {

class ByteSource {
 public:
  /// A file, or standard input for "-". Throws DataError.
  explicit ByteSource(const std::string& path);
  const std::string& name() const { return name_; }  ///< for messages
  static std::string name_of(const std::string& path);

  /// The next bytes, which stay until the next call; none at the end. Waits for them. Throws
  /// DataError.
  std::string_view read();
  /// Whether read would wait, as for a pipe whose writer is busy.
  bool would_wait() const;
  /// How much of it has been read, from 0 to 1; NaN if its size is not known.
  double part_read() const;

 private:
  std::string name_;
  Descriptor own_;  // where it is a file
  int file_;
  std::string bytes_;
  int64_t size_ = -1, num_read_ = 0;  // the size is -1 if it is not known
};

}  // namespace scry
