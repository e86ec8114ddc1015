#include "runtime/files/sequence_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/quote.h"

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

  explicit Columns(const TextFile& file) {
    const bool only_hashes = std::all_of(
        file.lines.begin(), file.lines.end(),
        [](const auto& line) { return line.text.empty() || starts_like_comment(line.text); });
    const auto is_plain = [&](const TextFile::Line& line) {
      return !line.text.empty() && (only_hashes || !starts_like_comment(line.text));
    };
    by_tabs = std::any_of(file.lines.begin(), file.lines.end(), [&](const auto& line) {
      return is_plain(line) && line.text.find('\t') != std::string_view::npos;
    });
    for (const TextFile::Line& line : file.lines) {
      if (!is_plain(line) || starts_document(line.text)) continue;
      count = split_line(line.text).size();
      break;
    }
    size_t group = 0;
    for (const TextFile::Line& line : file.lines) {
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
        has_one_word = has_one_word && std::all_of(fields.begin(), fields.end(), [](auto field) {
                         return split(field, " ").size() == 1;
                       });
      }
    }
  }

  std::vector<std::string_view> split_line(std::string_view text) const {
    if (!by_tabs || text.empty()) return split(text, kBlanks);
    std::vector<std::string_view> fields;
    while (true) {
      const size_t tab = text.find('\t');
      fields.push_back(trim(text.substr(0, tab)));
      if (tab == std::string_view::npos) return fields;
      text.remove_prefix(tab + 1);
    }
  }

  /// "#" is a symbol, too: a line that starts with it is a comment unless it has as many columns as
  /// the others.
  bool is_comment(std::string_view text) const {
    return starts_like_comment(text) && split_line(text).size() != count;
  }
};

/// Lines in groups are columns for certain; without groups a line of one symbol and one tag may be
/// a whole sequence or a part of one.
FileLayout find_layout(const TextFile& file, const Columns& columns, TagColumn tags) {
  if (columns.count == 0) return FileLayout::kConll;  // there is no symbol
  if (!columns.is_regular) return FileLayout::kLines;
  const bool is_grouped = columns.num_groups > 1 && columns.longest_group > 1;
  const bool is_marked = columns.has_documents || (columns.has_comments && columns.num_groups > 1);
  const auto refuse = [&](const std::string& what) {
    throw DataError(
        fmt::format("{}: {}; say --input-format conll if they are columns, a symbol a line, or "
                    "--input-format lines if they are sequences, one a line",
                    file.name, what));
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

RawSequence read_line(const TextFile::Line& line) {
  RawSequence sequence;
  sequence.line = line.number;
  const size_t tab = line.text.find('\t');
  sequence.has_tags = tab != std::string_view::npos;
  sequence.symbols_text = line.text.substr(0, tab);
  for (std::string_view word : split(line.text.substr(0, tab), " "))
    sequence.symbols.push_back({word, line.number});
  if (!sequence.has_tags) return sequence;
  const std::string_view tags = line.text.substr(tab + 1);
  if (tags.find('\t') != std::string_view::npos) {
    sequence.error =
        "there is more than one tab; a line is symbols, a tab, and tags (columns are read by "
        "--input-format conll)";
  }
  sequence.tags_text = tags;
  for (std::string_view word : split(tags, " ")) sequence.tags.push_back({word, line.number});
  return sequence;
}

class ConllReader {
 public:
  ConllReader(const Columns& columns, const FileFormat& format,
              const std::function<void(const RawSequence&)>& take)
      : columns_(columns),
        x_(static_cast<size_t>(format.x_column) - 1),
        y_(format.y_column == 0 ? columns.count - 1 : static_cast<size_t>(format.y_column) - 1),
        has_tags_(y_ != x_),
        take_(take) {}

  void read(const TextFile& file) {
    for (const TextFile::Line& line : file.lines) read(line);
    finish();
  }

 private:
  void read(const TextFile::Line& line) {
    const std::vector<std::string_view> fields = columns_.split_line(line.text);
    if (line.text.empty() || starts_document(line.text)) return finish();
    if (columns_.is_comment(line.text) || is_no_token(fields)) return;
    if (sequence_.line == 0) sequence_.line = line.number;
    if (!sequence_.error.empty()) return;
    if (std::string fault = find_fault(fields); !fault.empty()) {
      sequence_.error = std::move(fault);
      sequence_.line = line.number;
      return;
    }
    add(fields[x_], line.number, sequence_.symbols, sequence_.symbols_text);
    if (has_tags_) add(fields[y_], line.number, sequence_.tags, sequence_.tags_text);
  }

  /// CoNLL-U's lines for several words in one ("1-2") and for words that are not there ("1.1").
  bool is_no_token(const std::vector<std::string_view>& fields) const {
    constexpr size_t kConlluColumns = 10;
    if (fields.size() != kConlluColumns || x_ == 0) return false;
    const std::string_view id = fields.front();
    const size_t digits = id.find_first_not_of("0123456789");
    return digits != std::string_view::npos && digits > 0 &&
           (id[digits] == '-' || id[digits] == '.');
  }

  std::string find_fault(const std::vector<std::string_view>& fields) const {
    const auto count = [](size_t n) { return fmt::format("{} column{}", n, n == 1 ? "" : "s"); };
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

  static void add(std::string_view word, int line, std::vector<RawSequence::Word>& words,
                  std::string& text) {
    if (!words.empty()) text += ' ';
    text += word;
    words.push_back({word, line});
  }

  void finish() {
    if (sequence_.line != 0) {
      sequence_.has_tags = has_tags_;
      sequence_.in_columns = true;
      take_(sequence_);
    }
    sequence_ = {};
  }

  const Columns& columns_;
  size_t x_, y_;
  bool has_tags_;
  const std::function<void(const RawSequence&)>& take_;
  RawSequence sequence_;  // at hand
};

std::string read_all(std::istream& stream, const std::string& name) {
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad()) throw DataError(fmt::format("{} cannot be read", name));
  return text;
}

void cut_lines(TextFile& file) {
  std::string_view rest = file.text;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);  // a UTF-8 byte order mark
  for (int number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    while (text.ends_with('\r')) text.remove_suffix(1);
    if (text.find_first_not_of(kBlanks) == std::string_view::npos) text = {};
    file.lines.push_back({number, text});
  }
}

}  // namespace

TextFile read_text_file(const std::string& path) {
  TextFile file;
  if (path == "-") {
    file.name = "standard input";
    file.text = read_all(std::cin, file.name);
  } else {
    file.name = path;
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
      throw DataError(fmt::format("{} is a folder", path));
    errno = 0;
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw DataError(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
    file.text = read_all(stream, file.name);
  }
  cut_lines(file);
  return file;
}

void read_sequences(const TextFile& file, const FileFormat& format, TagColumn tags,
                    const std::function<void(const RawSequence&)>& take) {
  bool any = false;
  const std::function<void(const RawSequence&)> count_and_take = [&](const RawSequence& sequence) {
    any = true;
    take(sequence);
  };
  FileLayout layout = format.layout;
  if (layout != FileLayout::kLines) {
    const Columns columns(file);
    if (layout == FileLayout::kAuto) layout = find_layout(file, columns, tags);
    if (layout == FileLayout::kConll) ConllReader(columns, format, count_and_take).read(file);
  }
  if (layout == FileLayout::kLines) {
    for (const TextFile::Line& line : file.lines) {
      if (!line.text.empty()) count_and_take(read_line(line));
    }
  }
  if (!any) throw DataError(fmt::format("{}: there is no example in it", file.name));
}

}  // namespace scry
