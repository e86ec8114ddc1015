// When a command may write to a file that is there.
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace scry::cli {

/// Two paths of one file, which need not be there.
bool is_same_file(const std::string& a, const std::string& b);

/// The one rule of every `-o`, and of `--report`: a file that the command reads is never written;
/// one with parameters is replaced only by a command that writes parameters, and only if
/// `--overwrite` is given; other results may replace results. Commands that can go on with the file
/// (`--resume`) refuse in words of their own. Throws UsageError.
void check_output(const CLI::App& command);

}  // namespace scry::cli
