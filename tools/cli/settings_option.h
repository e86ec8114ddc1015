// The settings of a model on the command line.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "dsl/registry.h"

namespace scry::cli {

/// `--set NAME=VALUE`, repeatable.
void add_settings(CLI::App& app, std::vector<std::string>& given);

/// The model with what was given. Throws UsageError if a setting is not the model's, stands twice
/// or cannot have its value; and DataError, of a file that a setting names, with advice.
Bundle make_model_with(Bundle (*make_model)(Settings&), const std::vector<std::string>& given);

/// The options again, with a blank before each; empty if none was given.
std::string words_of(const std::vector<Setting>& settings);

}  // namespace scry::cli
