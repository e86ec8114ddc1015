// How model files are built on the fly: share/scry/build.conf, which CMake writes.
#pragma once
#include <string>
#include <vector>

namespace scry::cli {

struct BuildConf {
  std::string compiler;
  std::vector<std::string> flags, include, libs;
  std::string text;  ///< the whole file
};

/// Lines "key = a;b;c"; @PREFIX@ stands for `prefix`. Throws Error naming `file` and the line.
BuildConf parse_build_conf(const std::string& text, const std::string& file,
                           const std::string& prefix);

/// The one that belongs to this program, in ../share/scry. Throws Error.
BuildConf read_build_conf();

/// The whole file. Throws Error.
std::string read_text(const std::string& path);

}  // namespace scry::cli
