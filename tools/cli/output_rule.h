// When a command may write to a file that is there.
#pragma once
#include <string>
#include <vector>

#include "dsl/settings.h"

namespace CLI {
class App;
}

namespace scry::cli {

/// Two paths of one file, which need not be there.
bool is_same_file(const std::string& a, const std::string& b);

/// The one rule of every `-o`, of `--csv` and of `--report`: a file that the command reads is never
/// written; one with parameters is replaced only by a command that writes parameters, and only if
/// `--overwrite` is given; other results may replace results. Commands that can go on with the file
/// (`--resume`) refuse in words of their own. Throws UsageError.
void check_output(const CLI::App& command);
/// Likewise for files that the model's settings name.
void check_output(const CLI::App& command, const std::vector<Setting>& settings);

}  // namespace scry::cli
