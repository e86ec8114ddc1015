// What a process that was killed as it wrote a file leaves beside it.
#pragma once
#include <string>

namespace scry {

/// Removes temporaries of the file that `target` names (through links): regular files in its folder
/// called TARGET.PID.tmp or TARGET.PID.RANDOM.tmp, RANDOM of letters, digits and underscores, as
/// write_file calls them, whose process is gone from this machine. What cannot be looked at or
/// removed stays.
void remove_stale_temporaries(const std::string& target);

}  // namespace scry
