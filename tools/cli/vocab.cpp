#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <unordered_map>

#include "base/quote.h"
#include "base/utf8.h"
#include "runtime/files/byte_source.h"
#include "runtime/files/sequence_layout.h"
#include "tools/cli/command.h"
#include "tools/cli/input_format.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/text.h"

namespace scry::cli {
namespace {

struct VocabOptions {
  std::string input, output, column = "x";
  InputFormatOption input_format;
  int min_count = 1, max = 0;
};

/// How often each symbol stands in a file.
class SymbolCounts {
 public:
  struct Entry {
    std::string symbol;
    int64_t count;
  };

  void add(std::string_view symbol) {
    const auto [found, is_new] = places_.emplace(symbol, entries_.size());
    if (is_new) entries_.push_back({std::string(symbol), 0});
    ++entries_[found->second].count;
    ++total_;
  }

  /// The most frequent first; of equally frequent ones, the first in the file.
  std::vector<Entry> by_frequency() const {
    std::vector<Entry> sorted = entries_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Entry& a, const Entry& b) { return a.count > b.count; });
    return sorted;
  }
  int64_t total() const { return total_; }

 private:
  std::unordered_map<std::string, size_t> places_;
  std::vector<Entry> entries_;  // in the file's order
  int64_t total_ = 0;
};

SymbolCounts count_symbols(const VocabOptions& options) {
  SymbolCounts counts;
  const std::string name = ByteSource::name_of(options.input);
  const bool of_tags = options.column == "y";
  const TagColumn tags = of_tags ? TagColumn::kNeeded : TagColumn::kOptional;
  read_sequences(
      options.input, options.input_format.format(), tags, [&](const RawSequence& sequence) {
        const auto fail = [&](int line, const std::string& message) {
          throw DataError(fmt::format("{}:{}: {}", name, line, message));
        };
        if (!sequence.error.empty()) fail(sequence.line, sequence.error);
        if (of_tags && !sequence.has_tags) fail(sequence.line, "there are no tags");
        for (const RawSequence::Word& word : of_tags ? sequence.tags : sequence.symbols) {
          if (!is_utf8(word.text))
            fail(word.line, fmt::format("{} is not UTF-8, as a vocabulary must be; convert the "
                                        "file, as by iconv -t UTF-8",
                                        quote(word.text)));
          counts.add(word.text);
        }
      });
  return counts;
}

int run_vocab(const VocabOptions& options) {
  const SymbolCounts counts = count_symbols(options);
  const std::vector<SymbolCounts::Entry> entries = counts.by_frequency();
  std::string text;
  size_t num_kept = 0;
  int64_t num_covered = 0;
  for (const auto& [symbol, count] : entries) {
    if (count < options.min_count) break;
    if (options.max > 0 && num_kept == static_cast<size_t>(options.max)) break;
    text += symbol + "\n";
    ++num_kept;
    num_covered += count;
  }
  if (num_kept == 0) {
    throw DataError(fmt::format("{}: no symbol stands there {} times; lower --min-count",
                                ByteSource::name_of(options.input), options.min_count));
  }
  write_result(options.output, text);
  tell(fmt::format("vocab: {} of {} symbols, which are {:.1f} % of {} in the file",
                   group_digits(static_cast<double>(num_kept)),
                   group_digits(static_cast<double>(entries.size())),
                   100.0 * static_cast<double>(num_covered) / static_cast<double>(counts.total()),
                   group_digits(static_cast<double>(counts.total()))));
  return 0;
}

}  // namespace

Action declare_vocab(CLI::App& app) {
  auto options = std::make_shared<VocabOptions>();
  app.add_option("--input", options->input,
                 "Sequences, one a line or in columns; - is standard input")
      ->type_name("FILE")
      ->required()
      ->check([](const std::string& path) {
        return path == "-" ? std::string() : CLI::ExistingPath(path);
      });
  add_input_format(app, options->input_format);
  add_choice(app, "--column", options->column, {"x", "y"}, "Of the symbols, or of the tags");
  add_count(app, "--min-count", options->min_count, 1, "Leave out what stands there less often")
      ->capture_default_str();
  add_count(app, "--max", options->max, 1, "Only the N most frequent");
  add_output(app, options->output);
  return [options](const Bundle&) { return run_vocab(*options); };
}

}  // namespace scry::cli
