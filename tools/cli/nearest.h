// What a mistyped word was meant to be.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace scry::cli {

/// The word that `given` is nearest to, or empty if it is near to none or to several alike. Upper
/// and lower case are one, and so are words with and without dashes before them; else near are
/// words that begin with `given`, or from which it is few typing mistakes away: characters too
/// many, too few, wrong or swapped with their neighbours.
std::string nearest(std::string_view given, const std::vector<std::string>& words);

}  // namespace scry::cli
