// Results go to standard output or, whole or not at all, to a file.
#pragma once
#include <string>
#include <string_view>

namespace scry::cli {

/// Replaces the file: writes beside it, syncs, renames, so that no reader and no crash sees half of
/// it. A device or pipe is written directly. Throws Error.
void write_file(const std::string& path, std::string_view text);

/// To `path`, or to standard output if it is empty. Throws Error.
void write_result(const std::string& path, std::string_view text);

}  // namespace scry::cli
