// Compiled kernels on disk, so that a second start skips Enzyme and O3.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scry {

/// $SCRY_CACHE, else scry/ in $XDG_CACHE_HOME or ~/.cache. Empty if SCRY_CACHE is off or if there
/// is no home.
std::string default_cache_folder();

/// Why the cache folder is not used, in a line that says what to do; empty if it may be. Others
/// could put code of theirs into a folder that is not ours alone.
std::string cache_refusal(const std::string& folder);

/// A hex digest of everything that determines the code.
std::string cache_key(std::span<const std::string> parts);

/// A hex digest that takes about a millisecond for ten million bytes. Against accidents, not
/// against intent.
std::string quick_digest(std::string_view bytes);

class KernelCache {
 public:
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}

  /// The object stored under `key`. A damaged file is removed; it, or what is no file of ours, is
  /// described in `problem`.
  std::optional<std::vector<char>> load(const std::string& key, std::string& problem) const;
  /// So that a reader never sees half a file. Then removes what has not been used for long. Returns
  /// a problem, or empty.
  std::string store(const std::string& key, std::span<const char> object) const;
  std::string file_of(const std::string& key) const;

 private:
  std::string folder_;
};

}  // namespace scry
