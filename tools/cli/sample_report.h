// What `scry sample` found, as a table or as JSON Lines.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/files/examples_file.h"
#include "runtime/search/search.h"
#include "runtime/smc/ensemble_json.h"
#include "runtime/smc/sample.h"
#include "tools/cli/text.h"

namespace scry::cli {

/// Of one line of the input: an ensemble, the best taggings, or an error.
struct SampleResult {
  const InputLine* line = nullptr;
  int64_t sequence = 0;
  std::optional<Ensemble> ensemble;
  std::vector<Best> best;
  std::optional<std::vector<int32_t>>
      state;          ///< of a chain, where the ensemble is of its last sweep
  std::string error;  ///< in words, with the step if there is one
};

/// What a table shows of tags and of symbols: the first of them.
std::string join_tags(std::span<const int32_t> tags, const Alphabet& alphabet);
std::string cut_symbols(const std::string& symbols);

/// The words of a text, as a list.
Json words_json(const std::string& text);

/// One JSON object and a newline: the input, then the whole record, unless it failed; at most `top`
/// sequences. `parameters` says where they are from: "file", "random" or "none". docs/output.md has
/// the keys, which are the same for every method.
std::string result_json(const SampleResult& result, const Task& task, const std::string& method,
                        const char* parameters, size_t top, bool with_steps, bool with_marginals);

/// A row per tagging, at most `top` of each result: the next piece of a table with this layout.
std::string result_table(const std::vector<SampleResult>& results, const Task& task, size_t top,
                         const Style& style, TextTable::Layout& layout);

/// A row per position with the tags' marginals, the likeliest first: likewise.
std::string marginals_table(const std::vector<SampleResult>& results, const Task& task,
                            const Style& style, TextTable::Layout& layout);

/// What all runs together did.
struct SampleTotals {
  size_t num_sequences = 0, num_failed = 0;
  int64_t num_steps = 0, num_rows = 0, num_resampled = 0;
  double particle_steps = 0;  ///< Σ M·T
  double ess_share = 0;       ///< Σ over steps of ESS / M
  size_t num_samples = 0;     ///< results whose log Z is estimated from particles
  size_t num_doubtful = 0;    ///< of these, those whose error bar cannot be trusted
  size_t num_without = 0;     ///< of these, those without one
  void add(const SampleResult& result);
};
std::string format_totals(const SampleTotals& totals, double seconds, int threads,
                          const Style& style);

}  // namespace scry::cli
