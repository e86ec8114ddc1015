// Which option of `scry sample` serves which method.
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace scry::cli {

/// Throws UsageError if an option was given that the method, or another option, leaves without use.
/// An empty method is the model's default, which samples.
void check_method_options(const CLI::App& app, const std::string& method);

}  // namespace scry::cli
