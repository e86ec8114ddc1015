// Files of sequences, tagged or to be tagged, in the numbers of a task's alphabets.
#pragma once
#include <string>
#include <vector>

#include "dsl/task.h"
#include "runtime/files/sequence_layout.h"
#include "runtime/smc/tag_sets.h"

namespace scry {

struct Example {
  std::vector<int> x, y;      ///< numbers in the task's alphabets, equally many, without EOS
  std::string symbols, tags;  ///< as they stand in the file, with blanks between them
  int line = 0;               ///< the first, counted from 1
};

/// Reads all of a file, or standard input for "-", in either layout. Blank lines that separate
/// nothing and the carriage returns of Windows are passed over; an unknown symbol is read as the
/// alphabet's unknown symbol if it has one. Sequences may end with the alphabets' EOS (fn:eos) or
/// leave it out. Throws DataError ("train.tsv:41: 5 symbols but 4 tags") if anything is wrong or
/// there is no example.
std::vector<Example> read_examples(const std::string& path, const Task& task,
                                   const FileFormat& format = {});

/// A sequence to be tagged.
struct InputLine {
  std::vector<int> x;   ///< without EOS
  std::string symbols;  ///< as they stand in the file, with blanks between them
  TagSets allowed;      ///< empty: all
  int line = 0;         ///< the first; of an error, where it is
  std::string error;    ///< what is wrong with it, in words; then the rest may be incomplete
};

/// Reads sequences to be tagged. Tags are passed over, so that a file of examples will do; or, if
/// `constrained`, what stands for them says which tags are allowed at each position: "*" (all), a
/// tag, or tags joined by "|". A sequence with something wrong in it is returned with its `error`,
/// and others are not affected. Throws DataError if the file cannot be read, can be read in two
/// ways, or has no sequence in it.
std::vector<InputLine> read_inputs(const std::string& path, const Task& task, bool constrained,
                                   const FileFormat& format = {});

}  // namespace scry
