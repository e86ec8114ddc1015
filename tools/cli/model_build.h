// Model files as programs: built when they have changed, run at once when not.
#pragma once
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "tools/cli/build_conf.h"

namespace scry::cli {

/// A model file is no model: `what()` starts with `file: ` or, from the C++ compiler, `file:line:
/// `.
class BuildError : public Error {
 public:
  using Error::Error;
};

/// The folder of built models, or empty if there is no cache folder.
std::string models_folder();

/// Why that folder is not used though the one that it is in may be, in a line that says what to do;
/// empty if it is used, or would be if it were there.
std::string models_refusal();

/// The program of a model file, open to be run: built unless the cache has it, undamaged, for the
/// same texts of the file and of all it includes, the same compiler, flags and libraries. Says on
/// standard error that it builds. Where there is no cache that is ours alone and can be written and
/// run from, the program is in no folder any more.
/// Throws BuildError with the first error that the C++ compiler reports.
Descriptor build_model(const std::string& file, const BuildConf& conf);

/// Builds the file's program and replaces this process by it, with the file as its name.
[[noreturn]] void run_model(const std::string& file, const std::vector<std::string>& arguments);

}  // namespace scry::cli
