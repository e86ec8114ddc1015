#include "runtime/files/examples_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/quote.h"
#include "runtime/files/byte_source.h"
#include "runtime/smc/end_of_sequence.h"
#include "runtime/smc/ensemble_json.h"

namespace scry {
namespace {

/// A DataError that does not name the file yet.
struct Fault {
  int line;
  std::string message;
};

std::string count_of(size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

using Words = std::vector<RawSequence::Word>;

/// Turns what stands in a file into numbers; throws Fault.
class SequenceReader {
 public:
  explicit SequenceReader(const Task& task) : task_(task) {}

  Example read_example(const RawSequence& raw) const {
    check_form(raw);
    check_tags(raw, "tags");
    Example example{numbers(raw.symbols, task_.x, "input", false),
                    numbers(raw.tags, task_.y, "output", false), raw.symbols_text, raw.tags_text,
                    raw.line};
    check_lengths(raw, example.x.size(), example.y.size());
    return example;
  }

  /// The symbols, and all that was found for them. What failed when it was found fails again.
  void read_ensemble(const RawSequence& raw, InputLine& line) const {
    line.line = raw.line;
    line.is_of_ensembles = true;
    try {
      const Json record = parse_record(raw.ensemble);
      const auto error = record.find("error");
      if (error != record.end() && error->is_string())
        throw Error(quote(error->get_ref<const std::string&>(), 300));
      Words words;
      const auto x = record.find("x");
      if (x == record.end() || !x->is_array()) throw Error("there is no list 'x' of its symbols");
      for (const Json& symbol : *x) {
        if (!symbol.is_string()) throw Error("'x' is not a list of names");
        words.push_back({symbol.get_ref<const std::string&>(), raw.line});
        line.symbols += (words.size() > 1 ? " " : "") + symbol.get<std::string>();
      }
      line.x = numbers(words, task_.x, "input", true);
      Ensemble ensemble = to_ensemble(record, task_);
      if (line.x.size() != static_cast<size_t>(ensemble.length)) {
        throw Error(fmt::format("{} but taggings of {}", count_of(line.x.size(), "symbol"),
                                ensemble.length));
      }
      line.ensemble = std::move(ensemble);
    } catch (const Error& error) {
      throw Fault{raw.line, fmt::format("no ensemble: {}", error.what())};
    }
  }

  void read_input(const RawSequence& raw, GivenTags given, InputLine& line) const {
    line.line = raw.line;
    if (!raw.ensemble.empty()) return read_ensemble(raw, line);
    line.symbols = raw.symbols_text;
    line.places = raw.places;
    check_form(raw);
    line.x = numbers(raw.symbols, task_.x, "input", true);
    if (given == GivenTags::kGold && raw.has_tags) {
      line.gold = numbers(raw.tags, task_.y, "output", true);
      check_lengths(raw, line.x.size(), line.gold->size());
    }
    if (given != GivenTags::kAllowed) return;
    check_tags(raw, "allowed tags");
    const auto length = static_cast<int>(line.x.size());
    Words sets = raw.tags;
    if (sets.size() == line.x.size() + 1 && fits_end(sets.back().text)) sets.pop_back();
    if (sets.size() != line.x.size()) {
      throw Fault{raw.line,
                  fmt::format("{} symbols but {} sets of allowed tags", length, sets.size())};
    }
    line.allowed = TagSets(length, task_.y.size());
    for (int step = 1; step <= length; ++step) {
      const RawSequence::Word& set = sets[static_cast<size_t>(step) - 1];
      if (set.text != "*") line.allowed.allow_only(step, tags(set, step));
    }
  }

 private:
  static void check_form(const RawSequence& raw) {
    if (!raw.error.empty()) throw Fault{raw.line, raw.error};
    if (raw.symbols.empty()) throw Fault{raw.line, "there are no symbols"};
  }

  static void check_lengths(const RawSequence& raw, size_t num_symbols, size_t num_tags) {
    if (num_symbols == num_tags) return;
    throw Fault{raw.line, count_of(num_symbols, "symbol") + " but " + count_of(num_tags, "tag")};
  }

  static void check_tags(const RawSequence& raw, const char* what) {
    if (raw.has_tags) return;
    throw Fault{raw.line, raw.in_columns
                              ? fmt::format("there is no column of {}", what)
                              : fmt::format("there is no tab between symbols and {}", what)};
  }

  [[noreturn]] static void fail(const RawSequence::Word& word, size_t step, bool name_step,
                                const std::string& message) {
    throw Fault{word.line, name_step ? fmt::format("step {}: {}", step, message) : message};
  }

  std::vector<int> numbers(const Words& words, const Alphabet& alphabet, const char* which,
                           bool name_step) const {
    std::vector<int> ids;
    for (const RawSequence::Word& word : words) {
      const size_t step = ids.size() + 1;
      const std::optional<int> id = alphabet.find(word.text);
      if (!id) {
        fail(word, step, name_step,
             fmt::format("{} is not in the {} alphabet", quote(word.text), which));
      }
      const std::optional<std::string> early = explain_early_end(*id, alphabet);
      if (early && step < words.size()) fail(word, step, name_step, *early);
      if (!early) ids.push_back(*id);
    }
    return ids;
  }

  /// Whether a set of allowed tags may stand beside EOS.
  bool fits_end(std::string_view set) const {
    return task_.y.eos() && (set == "*" || set == task_.y.name(*task_.y.eos()));
  }

  std::vector<int> tags(const RawSequence::Word& set, int step) const {
    const auto number = [&](std::string_view name) {
      const std::optional<int> id = task_.y.find(name);
      if (!id) {
        fail(set, static_cast<size_t>(step), true,
             fmt::format("{} is not in the output alphabet", quote(name)));
      }
      if (const auto early = explain_early_end(*id, task_.y))
        fail(set, static_cast<size_t>(step), true, *early);
      return *id;
    };
    if (task_.y.find(set.text)) return {number(set.text)};
    std::vector<int> ids;
    for (std::string_view rest = set.text; !rest.empty();) {
      const std::string_view name = rest.substr(0, rest.find('|'));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      if (!name.empty()) ids.push_back(number(name));
    }
    return ids;
  }

  const Task& task_;
};

}  // namespace

namespace {
/// Of an ensemble, as if each stood in the line.
void add_taggings(const SequenceReader& reader, const RawSequence& raw, const Task& task,
                  std::vector<Example>& examples) {
  InputLine line;
  reader.read_ensemble(raw, line);
  for (size_t i = 0; i < line.ensemble->size(); ++i) {
    const std::span<const int32_t> tags = line.ensemble->sequence(i);
    Example& example = examples.emplace_back(
        Example{line.x, {tags.begin(), tags.end()}, line.symbols, "", line.line});
    for (int32_t tag : tags) example.tags += (example.tags.empty() ? "" : " ") + task.y.name(tag);
  }
}
}  // namespace

std::vector<Example> read_examples(const std::string& path, const Task& task,
                                   const FileFormat& format) {
  const std::string name = ByteSource::name_of(path);
  const SequenceReader reader(task);
  std::vector<Example> examples;
  read_sequences(path, format, TagColumn::kNeeded, [&](const RawSequence& raw) {
    try {
      if (!raw.ensemble.empty()) return add_taggings(reader, raw, task, examples);
      examples.push_back(reader.read_example(raw));
    } catch (const Fault& fault) {
      throw DataError(fmt::format("{}:{}: {}", name, fault.line, fault.message));
    }
  });
  return examples;
}

class InputReader::Impl {
 public:
  Impl(const std::string& path, const Task& task, GivenTags tags, const FileFormat& format)
      : source_(path),
        reader_(task),
        tags_(tags),
        cutter_(source_.name(), format,
                tags == GivenTags::kAllowed ? TagColumn::kNeeded : TagColumn::kOptional,
                [this](const RawSequence& raw) { take(raw); }) {}

  void fill(std::vector<InputLine>& lines, size_t count, Wait wait) {
    while (true) {
      for (; lines.size() < count && !cut_.empty(); cut_.pop_front())
        lines.push_back(std::move(cut_.front()));
      if (lines.size() >= count || at_end_) return;
      if (wait == Wait::kForSome && !lines.empty() && source_.would_wait()) return;
      const std::string_view piece = source_.read();
      at_end_ = piece.empty();
      if (at_end_) {
        cutter_.finish();
      } else {
        cutter_.add(piece);
      }
    }
  }

  double part_of(size_t num_sequences) const {
    return source_.part_read() * static_cast<double>(num_sequences) /
           static_cast<double>(std::max<size_t>(num_cut_, 1));
  }

 private:
  void take(const RawSequence& raw) {
    InputLine& line = cut_.emplace_back();
    ++num_cut_;
    try {
      reader_.read_input(raw, tags_, line);
    } catch (const Fault& fault) {
      line.line = fault.line;
      line.error = fault.message;
    }
  }

  ByteSource source_;
  SequenceReader reader_;
  const GivenTags tags_;
  SequenceCutter cutter_;
  std::deque<InputLine> cut_;  // off what was read, and not given yet
  size_t num_cut_ = 0;         // with those that were given
  bool at_end_ = false;
};

InputReader::InputReader(const std::string& path, const Task& task, GivenTags tags,
                         const FileFormat& format)
    : impl_(std::make_unique<Impl>(path, task, tags, format)) {}
InputReader::~InputReader() = default;
void InputReader::fill(std::vector<InputLine>& lines, size_t count, Wait wait) {
  impl_->fill(lines, count, wait);
}
double InputReader::part_of(size_t num_sequences) const { return impl_->part_of(num_sequences); }

std::vector<InputLine> read_inputs(const std::string& path, const Task& task, bool constrained,
                                   const FileFormat& format) {
  std::vector<InputLine> lines;
  InputReader(path, task, constrained, format).fill(lines, SIZE_MAX);
  return lines;
}

}  // namespace scry
