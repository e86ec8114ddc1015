#pragma once
#include <string>
#include <vector>

namespace scry::cli {

/// "1-12" or "1,2,5-8": the lengths in order. Throws UsageError.
std::vector<int> parse_lengths(const std::string& text);

}  // namespace scry::cli
