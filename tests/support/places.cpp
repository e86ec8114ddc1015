#include "tests/support/places.h"

namespace scry::test {

const std::string& source_dir() {
  static const std::string path = SCRY_SOURCE_DIR;
  return path;
}

const std::string& bin_dir() {
  static const std::string path = SCRY_BIN_DIR;
  return path;
}

}  // namespace scry::test
