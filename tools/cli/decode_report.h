// What `scry decode` decided, as a table, as JSON Lines, or as a tagged file.
#pragma once
#include <string>
#include <vector>

#include "tools/cli/decode_engine.h"
#include "tools/cli/text.h"

namespace scry::cli {

/// A row per sequence: the next piece of a table with this layout.
std::string decision_table(const std::vector<DecodeResult>& results, const Task& task,
                           const Style& style, TextTable::Layout& layout);

/// One JSON object and a newline; docs/output.md has the keys.
std::string decision_json(const DecodeResult& result, const Task& task, LossKind loss,
                          const char* parameters);

/// The sequence with its decided tags, as it stood in its file; of an ensemble, as a line.
std::string tagged_text(const DecodeResult& result, const Task& task);

/// The ways to decide beside each other; `num_left_out` sequences could not be compared.
std::string comparison_table(const std::vector<ComparedRow>& rows, size_t num_sequences,
                             size_t num_left_out, const Style& style);
std::string comparison_json(const std::vector<ComparedRow>& rows, size_t num_sequences,
                            size_t num_left_out);

}  // namespace scry::cli
