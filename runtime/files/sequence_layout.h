// How files of sequences are laid out: one sequence a line, or one symbol a line in columns
// (CoNLL).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace scry {

enum class FileLayout : uint8_t {
  kAuto,       ///< found out; a file that can be read in two ways is refused
  kLines,      ///< a sequence a line: symbols, a tab, tags; blanks between them
  kConll,      ///< a symbol a line: columns; a blank line ends a sequence
  kEnsembles,  ///< an ensemble a line, as `scry sample --format jsonl` writes it
};

struct FileFormat {
  FileLayout layout = FileLayout::kAuto;
  int x_column = 1;  ///< of kConll, from 1
  int y_column = 0;  ///< likewise; 0: the last, if that is not x's
  /// Whether kAuto takes a file for kEnsembles, too: if its first line begins with {".
  bool may_be_ensembles = false;
  /// Whether every line that starts with "#" is passed over. Else it is a comment in columns alone,
  /// and if it has not as many of them as other lines: "#" may be a symbol.
  bool has_comments = false;
};

/// A line of columns without its tag: a tagged one is `before`, a tag, `after`.
struct TagPlace {
  std::string before, after;
};

/// A sequence as it stands in a file; views last as long as `take` below.
struct RawSequence {
  struct Word {
    std::string_view text;
    int line;
    size_t offset = 0;  ///< in columns: where it begins in its line, but for a byte order mark
  };
  std::vector<Word> symbols, tags;
  bool has_tags = false, in_columns = false;
  std::string symbols_text, tags_text;  ///< words separated by blanks
  int line = 0;                         ///< the first
  std::vector<TagPlace> places;         ///< of each symbol's tag, if in_columns
  std::string_view ensemble;            ///< the JSON of kEnsembles; then all the rest is empty
  std::string error;                    ///< what is wrong with its form; then `line` is where
};

/// Whether tags must be there, which helps to tell layouts apart.
enum class TagColumn : uint8_t { kNeeded, kOptional };

/// Cuts a file that comes in pieces into sequences. It holds no more of it than it must: the lines
/// before the layout can be told, and the sequence at hand. `kLines` is known from the start,
/// `kConll` from the first line of symbols; what `kAuto` finds is what it finds in the whole file,
/// so that only kLines and kEnsembles can be told before the end.
class SequenceCutter {
 public:
  using Take = std::function<void(const RawSequence&)>;
  /// `take` is called for each sequence; the name is for messages.
  SequenceCutter(std::string name, const FileFormat& format, TagColumn tags, Take take);
  ~SequenceCutter();
  SequenceCutter(const SequenceCutter&) = delete;
  SequenceCutter& operator=(const SequenceCutter&) = delete;

  void add(std::string_view piece);
  /// After the last piece. Throws DataError if the layout cannot be told, or if there is no
  /// sequence.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Calls `take` for each sequence of a file, or of standard input for "-". Throws DataError as
/// SequenceCutter does, or if the file cannot be read.
void read_sequences(const std::string& path, const FileFormat& format, TagColumn tags,
                    const SequenceCutter::Take& take);

}  // namespace scry
