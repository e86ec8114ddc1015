// `--params FILE`: parameters from a file, or fresh ones where none is given.
#pragma once
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "runtime/files/parameters_file.h"
#include "tools/cli/output_file.h"

namespace scry::cli {

inline CLI::Option* add_params(CLI::App& app, std::string& path) {
  return app
      .add_option("--params", path, "Parameters, as scry init writes them; fresh ones if not given")
      ->type_name("FILE")
      ->check([](const std::string& given) { return CLI::ExistingPath(given); });
}

/// Those of the file, or fresh ones by the seed if the path is empty; says on standard error what
/// is noted about the file. Throws DataError.
inline Parameters parameters_of(const Program& program, const std::string& path, uint64_t seed) {
  if (path.empty()) return Parameters::fresh(program, seed);
  return read_parameters(path, program,
                         [](const std::string& text) { tell(fmt::format("scry: {}", text)); });
}

/// Says on standard error that the parameters are fresh, where they are: what is computed with them
/// is no answer about data. Call it when all that was given has been read.
inline void tell_of_random(const Program& program, const std::string& path, uint64_t seed) {
  if (!path.empty() || program.params.empty()) return;
  tell(fmt::format("scry: there is no --params: the weights are random, of seed {}", seed));
}

}  // namespace scry::cli
