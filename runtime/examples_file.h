// Files of tagged sequences: "x x x<TAB>y y y", one sequence a line.
#pragma once
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/task.h"

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

}  // namespace scry
