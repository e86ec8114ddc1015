// What is removed from the cache folder, and when.
#pragma once
#include <cstdint>
#include <string>

namespace scry {

/// Removes from the cache folder and from models/ in it what has a name that Scry gives, is a
/// regular file of this user, and was not used for 30 days; then the least recently used of these
/// until no more than `max_bytes` are left. What was used in the last ten minutes stays, as does
/// everything else in these folders.
void prune_cache(const std::string& folder, uint64_t max_bytes);

/// $SCRY_CACHE_SIZE, such as 500MB; 2 GB if it is not set, or if it is no size: then `problem` says
/// so.
uint64_t cache_size_limit(std::string& problem);

}  // namespace scry
