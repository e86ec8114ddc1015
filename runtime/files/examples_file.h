// Files of sequences, tagged or to be tagged, in the numbers of a task's alphabets.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/task.h"
#include "runtime/files/sequence_layout.h"
#include "runtime/smc/ensemble.h"
#include "runtime/smc/tag_sets.h"

namespace scry {

/// A sequence and its tags; or, with an empty `y`, what is known of them.
struct Example {
  std::vector<int> x, y;      ///< numbers in the task's alphabets, equally many, without EOS
  std::string symbols, tags;  ///< as they stand in the file, with blanks between them
  int line = 0;               ///< the first, counted from 1
  TagSets allowed = {};       ///< where `y` is empty: the tags that may be; empty: all
};

/// Whether files of examples may leave tags open: "*" for any, "A|B" for one of several, a line
/// without tags, in a file that has some, for all of them. A tag that has such a name is that tag.
enum class KnownTags : uint8_t { kAll, kSome };

/// Reads all of a file, or standard input for "-", in either layout. Blank lines that separate
/// nothing and the carriage returns of Windows are passed over; an unknown symbol is read as the
/// alphabet's unknown symbol if it has one. Sequences may end with the alphabets' EOS (fn:eos) or
/// leave it out. Of ensembles, where the format allows them, every tagging is an example. Throws
/// DataError ("train.tsv:41: 5 symbols but 4 tags") if anything is wrong or there is no example.
std::vector<Example> read_examples(const std::string& path, const Task& task,
                                   const FileFormat& format = {},
                                   KnownTags known = KnownTags::kAll);

/// A sequence to be tagged.
struct InputLine {
  std::vector<int> x;                    ///< without EOS
  std::string symbols;                   ///< as they stand in the file, with blanks between them
  TagSets allowed;                       ///< empty: all
  std::optional<std::vector<int>> gold;  ///< its tags, if they were asked for and are there
  std::vector<TagPlace> places;          ///< where its tags go, if it stood in columns
  bool is_of_ensembles = false;          ///< whether the file is one of ensembles
  std::optional<Ensemble> ensemble;      ///< then this, unless there is an error
  int line = 0;                          ///< the first; of an error, where it is
  std::string error;  ///< what is wrong with it, in words; then the rest may be incomplete
};

/// What becomes of what stands where tags do.
enum class GivenTags : uint8_t {
  kPassedOver,
  kAllowed,  ///< it must be there, and says which tags are allowed
  kGold,     ///< it may be there, and then is what a decision is compared with
};

/// Reads sequences to be tagged, by parts: a file may be longer than the memory, and a pipe may be
/// read while others write to it, as far as SequenceCutter can tell the layout before the end. Tags
/// are passed over, so that a file of examples will do; or taken for gold; or what stands for them
/// says which tags are allowed at each position: "*" (all), a tag, or tags joined by "|". A
/// sequence with something wrong in it is returned with its `error`, and others are not affected.
/// Ensembles, where the format allows them, are sequences with what was found for them.
class InputReader {
 public:
  /// A file, or standard input for "-". Throws DataError if it cannot be read. The task must
  /// outlive the reader.
  InputReader(const std::string& path, const Task& task, GivenTags tags,
              const FileFormat& format = {});
  InputReader(const std::string& path, const Task& task, bool constrained,
              const FileFormat& format = {})
      : InputReader(path, task, constrained ? GivenTags::kAllowed : GivenTags::kPassedOver,
                    format) {}
  ~InputReader();
  InputReader(const InputReader&) = delete;
  InputReader& operator=(const InputReader&) = delete;

  /// What to do where some sequences are there and others have not come yet.
  enum class Wait : uint8_t { kForAll, kForSome };
  /// Adds the next sequences until there are `count`: fewer at the end, or if it need not wait for
  /// them. None are added only at the end, or if there were some. Throws DataError if the file
  /// cannot be read, can be read in two ways, or has no sequence in it.
  void fill(std::vector<InputLine>& lines, size_t count, Wait wait = Wait::kForAll);
  /// About how much of the file its first sequences are, from 0 to 1; NaN if its size is not known.
  double part_of(size_t num_sequences) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// All sequences to be tagged of a file, as InputReader reads them.
std::vector<InputLine> read_inputs(const std::string& path, const Task& task, bool constrained,
                                   const FileFormat& format = {});

}  // namespace scry
