// What a process that was killed leaves behind: half a file beside its target, a folder it worked
// in.
#pragma once
#include <string>

namespace scry {

/// Removes temporaries of the file that `target` names (through links): regular files in its folder
/// called TARGET.PID.tmp or TARGET.PID.RANDOM.tmp, RANDOM of letters, digits and underscores, as
/// write_file calls them, whose process is gone from this machine. What cannot be looked at or
/// removed stays.
void remove_stale_temporaries(const std::string& target);

/// In `parent`, a folder of this process alone (0700), named PREFIX-PID-RANDOM. Returns its path,
/// or nothing, with the reason in errno.
std::string make_temporary_folder(const std::string& parent, const std::string& prefix);

/// Removes, with all in them, folders of such names that belong to this user, whose process is gone
/// from this machine and in which nothing was made or removed for an hour. (A container may share
/// the parent and not the processes.)
void remove_stale_folders(const std::string& parent, const std::string& prefix);

}  // namespace scry
