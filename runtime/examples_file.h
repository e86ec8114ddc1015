// Files of sequences, one a line: "x x x<TAB>y y y", or "x x x" where they are to be tagged.
#pragma once
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/task.h"
#include "runtime/tag_sets.h"

namespace scry {

/// Something wrong in a data file: `what()` starts with the file's name, and the line if there is
/// one.
class DataError : public Error {
 public:
  using Error::Error;
};

struct Example {
  std::vector<int> x, y;      ///< numbers in the task's alphabets, equally many
  std::string symbols, tags;  ///< as they stand in the file
  int line = 0;               ///< counted from 1
};

/// Reads all of a file, or standard input for "-". Blank lines and the carriage returns of Windows
/// are passed over; an unknown symbol is read as the alphabet's unknown symbol if it has one.
/// Throws DataError ("train.tsv:41: 5 symbols but 4 tags") if anything is wrong or there is no
/// example.
std::vector<Example> read_examples(const std::string& path, const Task& task);

/// A sequence to be tagged.
struct InputLine {
  std::vector<int> x;
  std::string symbols;  ///< as they stand in the file
  TagSets allowed;      ///< empty: all
  int line = 0;
  std::string error;  ///< what is wrong with it, in words; then the rest may be incomplete
};

/// Reads sequences to be tagged. What follows a tab is passed over, so that a file of examples will
/// do; or, if `constrained`, says which tags are allowed at each position: "*" (all), a tag, or
/// tags joined by "|". A line with something wrong in it is returned with its `error`, and others
/// are not affected. Throws DataError if the file cannot be read or there is no line in it.
std::vector<InputLine> read_inputs(const std::string& path, const Task& task, bool constrained);

}  // namespace scry
