// Files are written whole or not at all.
#pragma once
#include <string>
#include <string_view>

namespace scry {

/// Replaces the file: writes beside it, syncs, renames, so that no reader and no crash sees half of
/// it. A device or pipe is written directly. Throws Error.
void write_file(const std::string& path, std::string_view bytes);

/// Throws Error as write_file would, as far as can be told without touching the file: by writing
/// beside it. For what takes long to make.
void check_writable(const std::string& path);

}  // namespace scry
