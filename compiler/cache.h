// Compiled kernels on disk, so that a second start skips Enzyme and O3.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace scry {

/// $SCRY_CACHE, else scry/ in $XDG_CACHE_HOME or ~/.cache. Empty if there is no home.
std::string default_cache_folder();

/// A hex digest of everything that determines the code.
std::string cache_key(std::span<const std::string> parts);

class KernelCache {
 public:
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}

  /// The object stored under `key`. A damaged or foreign file is removed and described in
  /// `problem`.
  std::optional<std::vector<char>> load(const std::string& key, std::string& problem) const;
  /// Writes beside and renames, so that a reader never sees half a file. Returns a problem, or
  /// empty.
  std::string store(const std::string& key, std::span<const char> object) const;
  std::string file_of(const std::string& key) const;

 private:
  std::string folder_;
};

}  // namespace scry
