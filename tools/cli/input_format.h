// How the files of sequences that a command reads are laid out.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "runtime/files/sequence_layout.h"

namespace scry::cli {

struct InputFormatOption {
  std::string layout = "auto", columns;  ///< as given
  bool has_comments = false;

  /// Throws UsageError if the columns make no sense.
  FileFormat format() const;
  /// The options again, with a blank before each; empty if none was given.
  std::string words() const;
};

/// `--input-format`, `--columns` and `--comments`. `names` are those of the former.
/// `with_ensembles`: it may be jsonl, too.
void add_input_format(CLI::App& app, InputFormatOption& option,
                      const std::string& names = "--input-format,--format",
                      bool with_ensembles = false);

}  // namespace scry::cli
