// How files of sequences are laid out: one sequence a line, or one symbol a line in columns
// (CoNLL).
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace scry {

enum class FileLayout : uint8_t {
  kAuto,   ///< found out; a file that can be read in two ways is refused
  kLines,  ///< a sequence a line: symbols, a tab, tags; blanks between them
  kConll,  ///< a symbol a line: columns; a blank line ends a sequence
};

struct FileFormat {
  FileLayout layout = FileLayout::kAuto;
  int x_column = 1;  ///< of kConll, from 1
  int y_column = 0;  ///< likewise; 0: the last, if that is not x's
};

/// What takes part in a file, still as text.
struct TextFile {
  struct Line {
    int number;             ///< from 1
    std::string_view text;  ///< without carriage returns and byte order mark; empty if blank
  };
  std::string name;  ///< for messages
  std::string text;
  std::vector<Line> lines;
};

/// Reads all of a file, or standard input for "-". Throws DataError.
TextFile read_text_file(const std::string& path);

/// A sequence as it stands in a file; views are into the file's text.
struct RawSequence {
  struct Word {
    std::string_view text;
    int line;
  };
  std::vector<Word> symbols, tags;
  bool has_tags = false, in_columns = false;
  std::string symbols_text, tags_text;  ///< words separated by blanks
  int line = 0;                         ///< the first
  std::string error;                    ///< what is wrong with its form; then `line` is where
};

/// Whether tags must be there, which helps to tell layouts apart.
enum class TagColumn : uint8_t { kNeeded, kOptional };

/// Calls `take` for each sequence of the file. Throws DataError if the layout cannot be told, or if
/// there is no sequence.
void read_sequences(const TextFile& file, const FileFormat& format, TagColumn tags,
                    const std::function<void(const RawSequence&)>& take);

}  // namespace scry
