// Results go to standard output or, whole or not at all, to a file.
#pragma once
#include <string>
#include <string_view>

namespace scry::cli {

/// To `path`, or to standard output if it is empty. Throws Error.
void write_result(const std::string& path, std::string_view text);

}  // namespace scry::cli
