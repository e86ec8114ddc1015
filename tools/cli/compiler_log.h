// What a C++ compiler said, in a form for people and for the build cache.
#pragma once
#include <string>
#include <vector>

namespace scry::cli {

/// The first error as `file:line: message`. An error inside a header that the model file's
/// templates ran into is reported at the model file's line; a link error at the file as a whole.
std::string first_error(const std::string& log, const std::string& model_file);

/// The prerequisites in a Makefile rule, as `-MMD` writes it.
std::vector<std::string> parse_dependencies(const std::string& rule);

}  // namespace scry::cli
