// Files are written whole or not at all.
#pragma once
#include <string>
#include <string_view>

namespace scry {

/// Replaces the file: writes beside it (base/new_file.h), syncs, renames, so that no reader and no
/// crash sees half of it. A file that was there keeps its mode, its owner and group where the
/// system allows it, and its extended attributes; one that the user may not write to is not
/// replaced. Through a symbolic link, the file that it names is written, unless someone else put
/// the link into a folder such as /tmp. A device or pipe is written directly. Throws Error.
void write_file(const std::string& path, std::string_view bytes);

/// Throws Error as write_file would, as far as can be told without touching the file: by writing
/// beside it. For what takes long to make.
void check_writable(const std::string& path);

}  // namespace scry
