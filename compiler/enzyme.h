// Finding the Enzyme plugin. It is a user's own install and is loaded at run time.
#pragma once
#include <string>

namespace scry {

struct EnzymeSearch {
  std::string path;    ///< the plugin, or empty
  std::string reason;  ///< where it was found, or why there is none: one line
  std::string id;      ///< tells one plugin file from another, for the kernel cache
};

/// $SCRY_ENZYME (a path, or "off"), else LLVMEnzyme-<LLVM's version>.so in the usual library
/// folders.
EnzymeSearch find_enzyme();

/// Why the file cannot be a plugin for this LLVM, or empty. Does not load it.
std::string check_enzyme_plugin(const std::string& path);

/// LLVM's major version, such as "19".
std::string llvm_major();

}  // namespace scry
