// Where this build's sources and programs are. Known to one source alone, so that all others are
// compiled the same in every clone.
#pragma once
#include <string>

namespace scry::test {

const std::string& source_dir();
const std::string& bin_dir();

}  // namespace scry::test
