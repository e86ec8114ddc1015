#include "runtime/files/sequence_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <deque>
#include <optional>

#include "base/quote.h"
#include "runtime/files/byte_source.h"

namespace scry {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kDocumentStart = "-DOCSTART-";  // of CoNLL-2003, in the first column

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t start = text.find_first_not_of(separators);
    if (start == std::string_view::npos) return words;
    text.remove_prefix(start);
    words.push_back(text.substr(0, text.find_first_of(separators)));
    text.remove_prefix(words.back().size());
  }
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool starts_document(std::string_view text) {
  return text.starts_with(kDocumentStart) && split(text, kBlanks).front() == kDocumentStart;
}

bool starts_like_comment(std::string_view text) { return text.starts_with('#'); }

bool has_tab(std::string_view text) { return text.find('\t') != std::string_view::npos; }

/// Whether symbols stand there for certain. ("#" may be one, too.)
bool is_plain(std::string_view text) {
  return !text.empty() && !starts_like_comment(text) && !starts_document(text);
}

std::vector<std::string_view> split_by_tabs(std::string_view text) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t tab = text.find('\t');
    fields.push_back(trim(text.substr(0, tab)));
    if (tab == std::string_view::npos) return fields;
    text.remove_prefix(tab + 1);
  }
}

bool is_one_word(std::string_view field) { return split(field, " ").size() == 1; }

struct Line {
  int number;        ///< from 1
  std::string text;  ///< without carriage returns and byte order mark; empty if blank
};
using Lines = std::deque<Line>;

/// What lines of a file, of which the rest is not known, say about it.
class Evidence {
 public:
  void add(std::string_view text) {
    if (!is_plain(text)) return;
    const std::vector<std::string_view> fields = split_by_tabs(text);
    const size_t num_words = split(text, kBlanks).size();
    if (num_fields_ == 0) num_fields_ = fields.size(), num_words_ = num_words;
    has_tabs_ = has_tabs_ || fields.size() > 1;
    is_mixed_ =
        is_mixed_ || fields.size() != num_fields_ || (!has_tabs_ && num_words != num_words_);
    has_words_ = has_words_ || !std::all_of(fields.begin(), fields.end(), is_one_word);
  }
  bool has_symbols() const { return num_fields_ > 0; }
  /// Whether find_layout will say kLines, whatever follows.
  bool shows_lines() const { return is_mixed_ || (num_fields_ == 2 && has_words_); }

 private:
  size_t num_fields_ = 0, num_words_ = 0;  // of the first line of symbols
  bool has_tabs_ = false;
  bool is_mixed_ = false;   // there is no number of columns that all have
  bool has_words_ = false;  // several, or none, in one column by tabs
};

/// A file seen as columns. Tabs separate them if there are any, else blanks do.
struct Columns {
  bool by_tabs = false;
  size_t count = 0;  ///< of the first line that cannot be a comment
  // Of all lines of symbols:
  bool is_regular = true;    ///< they have so many columns each
  bool has_one_word = true;  ///< in every column
  bool has_documents = false;
  bool has_comments = false;
  size_t num_groups = 0, longest_group = 0;  ///< separated by blank lines

  /// `whole`: these are all lines of the file. Else the first with symbols decides.
  explicit Columns(const Lines& lines, bool whole = true) {
    const bool only_hashes = std::all_of(lines.begin(), lines.end(), [](const Line& line) {
      return line.text.empty() || starts_like_comment(line.text);
    });
    const auto has_symbols = [&](const Line& line) {
      return only_hashes ? !line.text.empty() : is_plain(line.text);
    };
    const auto first = std::find_if(lines.begin(), lines.end(), has_symbols);
    if (first == lines.end()) return;
    by_tabs =
        has_tab(first->text) || (whole && std::any_of(first, lines.end(), [&](const Line& line) {
                                   return has_symbols(line) && has_tab(line.text);
                                 }));
    count = split_line(first->text).size();
    size_t group = 0;
    for (const Line& line : lines) {
      const std::vector<std::string_view> fields = split_line(line.text);
      has_documents = has_documents || starts_document(line.text);
      if (line.text.empty() || starts_document(line.text)) {
        group = 0;
      } else if (is_comment(line.text)) {
        has_comments = true;
      } else {
        if (group == 0) ++num_groups;
        longest_group = std::max(longest_group, ++group);
        is_regular = is_regular && fields.size() == count;
        has_one_word = has_one_word && std::all_of(fields.begin(), fields.end(), is_one_word);
      }
    }
  }

  std::vector<std::string_view> split_line(std::string_view text) const {
    return by_tabs && !text.empty() ? split_by_tabs(text) : split(text, kBlanks);
  }

  /// "#" is a symbol, too: a line that starts with it is a comment unless it has as many columns as
  /// the others.
  bool is_comment(std::string_view text) const {
    return starts_like_comment(text) && split_line(text).size() != count;
  }
};

/// Lines in groups are columns for certain; without groups a line of one symbol and one tag may be
/// a whole sequence or a part of one.
FileLayout find_layout(const std::string& name, const Columns& columns, TagColumn tags) {
  if (columns.count == 0) return FileLayout::kConll;  // there is no symbol
  if (!columns.is_regular) return FileLayout::kLines;
  const bool is_grouped = columns.num_groups > 1 && columns.longest_group > 1;
  const bool is_marked = columns.has_documents || (columns.has_comments && columns.num_groups > 1);
  const auto refuse = [&](const std::string& what) {
    throw DataError(
        fmt::format("{}: {}; say --input-format conll if they are columns, a symbol a line, or "
                    "--input-format lines if they are sequences, one a line",
                    name, what));
  };
  if (columns.by_tabs) {
    if (columns.count == 2 && !columns.has_one_word) return FileLayout::kLines;
    if (is_grouped || is_marked) return FileLayout::kConll;
    if (columns.count == 2 && columns.longest_group > 1) {
      refuse("every line is one symbol, a tab and one tag, with no blank line between sequences");
    }
    return FileLayout::kLines;
  }
  if (!is_grouped && !is_marked) return FileLayout::kLines;
  if (columns.count == 1)
    return tags == TagColumn::kNeeded ? FileLayout::kLines : FileLayout::kConll;
  if (tags == TagColumn::kOptional && !columns.has_documents) {
    refuse(fmt::format("every line has {} words, with blank lines between groups", columns.count));
  }
  return FileLayout::kConll;
}

RawSequence read_line(int number, std::string_view text) {
  RawSequence sequence;
  sequence.line = number;
  const size_t tab = text.find('\t');
  sequence.has_tags = tab != std::string_view::npos;
  sequence.symbols_text = text.substr(0, tab);
  for (std::string_view word : split(text.substr(0, tab), " "))
    sequence.symbols.push_back({word, number});
  if (!sequence.has_tags) return sequence;
  const std::string_view tags = text.substr(tab + 1);
  if (has_tab(tags)) {
    sequence.error =
        "there is more than one tab; a line is symbols, a tab, and tags (columns are read by "
        "--input-format conll)";
  }
  sequence.tags_text = tags;
  for (std::string_view word : split(tags, " ")) sequence.tags.push_back({word, number});
  return sequence;
}

RawSequence read_ensemble(int number, std::string_view text) {
  RawSequence sequence;
  sequence.line = number;
  sequence.ensemble = text;
  return sequence;
}

class ConllReader {
 public:
  ConllReader(const Columns& columns, const FileFormat& format, const SequenceCutter::Take& take)
      : columns_(columns),
        x_(static_cast<size_t>(format.x_column) - 1),
        y_(format.y_column == 0 ? columns.count - 1 : static_cast<size_t>(format.y_column) - 1),
        has_tags_(y_ != x_),
        take_(take) {}

  void read(int number, std::string_view text) {
    if (text.empty() || starts_document(text)) return finish();
    if (columns_.is_comment(text) || !sequence_.error.empty()) return;
    const std::vector<std::string_view> fields = columns_.split_line(lines_.emplace_back(text));
    if (is_no_token(fields)) return;
    if (sequence_.line == 0) sequence_.line = number;
    if (std::string fault = find_fault(text, fields); !fault.empty()) {
      sequence_.error = std::move(fault);
      sequence_.line = number;
      return;
    }
    const auto word_of = [&](size_t column) {
      const auto offset = static_cast<size_t>(fields[column].data() - lines_.back().data());
      return RawSequence::Word{fields[column], number, offset};
    };
    add(word_of(x_), sequence_.symbols, sequence_.symbols_text);
    if (has_tags_) add(word_of(y_), sequence_.tags, sequence_.tags_text);
    sequence_.places.push_back(place_of_tag(lines_.back(), fields));
  }

  /// Ends the sequence at hand.
  void finish() {
    if (sequence_.line != 0) {
      sequence_.has_tags = has_tags_;
      sequence_.in_columns = true;
      take_(sequence_);
    }
    sequence_ = {};
    lines_.clear();
  }

 private:
  /// CoNLL-U's lines for several words in one ("1-2") and for words that are not there ("1.1").
  bool is_no_token(const std::vector<std::string_view>& fields) const {
    constexpr size_t kConlluColumns = 10;
    if (fields.size() != kConlluColumns || x_ == 0) return false;
    const std::string_view id = fields.front();
    const size_t digits = id.find_first_not_of("0123456789");
    return digits != std::string_view::npos && digits > 0 &&
           (id[digits] == '-' || id[digits] == '.');
  }

  std::string find_fault(std::string_view text, const std::vector<std::string_view>& fields) const {
    const auto count = [](size_t n) { return fmt::format("{} column{}", n, n == 1 ? "" : "s"); };
    if (!columns_.by_tabs && is_plain(text) && has_tab(text))
      return "there is a tab, but blanks between columns before";
    if (fields.size() != columns_.count)
      return fmt::format("{}, but {} before", count(fields.size()), columns_.count);
    for (size_t column : {x_, y_}) {
      if (column >= fields.size())
        return fmt::format("there is no column {}, only {}", column + 1, count(fields.size()));
      if (fields[column].empty()) return fmt::format("column {} is empty", column + 1);
      if (fields[column].find(' ') != std::string_view::npos) {
        return fmt::format("column {} is {}, but symbols and tags have no blanks in them",
                           column + 1, quote(fields[column]));
      }
    }
    return "";
  }

  /// Where there is no column of tags, it is one more.
  TagPlace place_of_tag(const std::string& text,
                        const std::vector<std::string_view>& fields) const {
    if (!has_tags_) return {text + (columns_.by_tabs ? '\t' : ' '), ""};
    const auto start = static_cast<size_t>(fields[y_].data() - text.data());
    return {text.substr(0, start), text.substr(start + fields[y_].size())};
  }

  static void add(const RawSequence::Word& word, std::vector<RawSequence::Word>& words,
                  std::string& text) {
    if (!words.empty()) text += ' ';
    text += word.text;
    words.push_back(word);
  }

  Columns columns_;
  size_t x_, y_;
  bool has_tags_;
  const SequenceCutter::Take& take_;
  RawSequence sequence_;           // at hand
  std::deque<std::string> lines_;  // its text
};

}  // namespace

class SequenceCutter::Impl {
 public:
  Impl(std::string name, const FileFormat& format, TagColumn tags, Take take)
      : name_(std::move(name)), format_(format), tags_(tags), take_([this, take](const auto& raw) {
          any_ = true;
          take(raw);
        }) {}

  void add(std::string_view piece) {
    while (!piece.empty()) {
      const size_t end = piece.find('\n');
      const std::string_view part = piece.substr(0, end);
      if (end == std::string_view::npos) {
        begun_ += part;
        return;
      }
      piece.remove_prefix(end + 1);
      if (begun_.empty()) {
        add_line(part);
      } else {
        add_line(begun_ += part);
        begun_.clear();
      }
    }
  }

  void finish() {
    if (!begun_.empty()) add_line(begun_);
    if (layout_ == FileLayout::kAuto) {
      const Columns columns(held_);
      settle(
          format_.layout == FileLayout::kAuto ? find_layout(name_, columns, tags_) : format_.layout,
          columns);
    }
    if (conll_) conll_->finish();
    if (!any_) throw DataError(fmt::format("{}: there is no example in it", name_));
  }

 private:
  void add_line(std::string_view text) {
    if (number_ == INT_MAX) throw DataError(fmt::format("{}: there are too many lines", name_));
    if (++number_ == 1) {
      if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // UTF-8's mark
      if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
        throw DataError(
            fmt::format("{}:1: it is UTF-16; convert it, as by iconv -f UTF-16 -t UTF-8", name_));
      }
    }
    if (format_.has_comments && starts_like_comment(text)) return;
    while (text.ends_with('\r')) text.remove_suffix(1);
    if (text.find_first_not_of(kBlanks) == std::string_view::npos) text = {};
    if (layout_ != FileLayout::kAuto) return read(number_, text);
    const bool is_first = !evidence_.has_symbols() && !text.empty();
    if (format_.layout == FileLayout::kEnsembles ||
        (format_.layout == FileLayout::kAuto && format_.may_be_ensembles && is_first &&
         text.starts_with("{\"")))
      settle(FileLayout::kEnsembles, {});
    if (layout_ == FileLayout::kEnsembles) return read(number_, text);
    held_.push_back({number_, std::string(text)});
    evidence_.add(text);
    switch (format_.layout) {
      case FileLayout::kLines:
        return settle(FileLayout::kLines, {});
      case FileLayout::kConll:
        if (evidence_.has_symbols()) settle(FileLayout::kConll, Columns(held_, false));
        return;
      case FileLayout::kAuto:
        if (evidence_.shows_lines()) settle(FileLayout::kLines, {});
        return;
      case FileLayout::kEnsembles:
        return;  // settled above
    }
  }

  void settle(FileLayout layout, const std::optional<Columns>& columns) {
    layout_ = layout;
    if (layout == FileLayout::kConll) conll_.emplace(*columns, format_, take_);
    for (; !held_.empty(); held_.pop_front()) read(held_.front().number, held_.front().text);
  }

  void read(int number, std::string_view text) {
    if (conll_) {
      conll_->read(number, text);
    } else if (!text.empty()) {
      take_(layout_ == FileLayout::kEnsembles ? read_ensemble(number, text)
                                              : read_line(number, text));
    }
  }

  const std::string name_;
  const FileFormat format_;
  const TagColumn tags_;
  const Take take_;
  FileLayout layout_ = FileLayout::kAuto;  // that: not settled yet
  std::optional<ConllReader> conll_;       // if it is kConll
  Evidence evidence_;
  Lines held_;         // until the layout is settled
  std::string begun_;  // a line of which the end has not come
  int number_ = 0;     // of the last line
  bool any_ = false;
};

SequenceCutter::SequenceCutter(std::string name, const FileFormat& format, TagColumn tags,
                               Take take)
    : impl_(std::make_unique<Impl>(std::move(name), format, tags, std::move(take))) {}
SequenceCutter::~SequenceCutter() = default;
void SequenceCutter::add(std::string_view piece) { impl_->add(piece); }
void SequenceCutter::finish() { impl_->finish(); }

void read_sequences(const std::string& path, const FileFormat& format, TagColumn tags,
                    const SequenceCutter::Take& take) {
  ByteSource source(path);
  SequenceCutter cutter(source.name(), format, tags, take);
  for (std::string_view piece; !(piece = source.read()).empty();) cutter.add(piece);
  cutter.finish();
}

}  // namespace scry
