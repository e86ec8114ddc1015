// `--params FILE`: parameters from a file, or fresh ones where none is given.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "runtime/parameters_file.h"

namespace scry::cli {

inline CLI::Option* add_params(CLI::App& app, std::string& path) {
  return app
      .add_option("--params", path, "Parameters, as scry init writes them; fresh ones if not given")
      ->type_name("FILE")
      ->check([](const std::string& given) { return CLI::ExistingPath(given); });
}

/// Those of the file, or fresh ones by the seed if the path is empty. Throws DataError.
inline Parameters parameters_of(const Program& program, const std::string& path, uint64_t seed) {
  return path.empty() ? Parameters::fresh(program, seed) : read_parameters(path, program);
}

}  // namespace scry::cli
