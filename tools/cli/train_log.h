// The file of --log: one JSON line per finished epoch.
#pragma once
#include <string>
#include <vector>

namespace scry::cli {

/// A log that ends up as that of an uninterrupted run. The file is not touched before the first
/// line is added; that replaces it, whole or not at all, by the lines of earlier epochs and the new
/// one, and those after it are appended.
class TrainLog {
 public:
  /// No file if the path is empty. If `resume`, keeps the lines that are there for earlier epochs.
  /// Throws DataError ("log.jsonl:3: …") if they are no log's, Error if it cannot be written.
  TrainLog(const std::string& path, bool resume);
  /// `line` has its newline. Throws Error.
  void add(int epoch, const std::string& line);

 private:
  struct Line {
    int epoch;
    std::string text;
  };
  std::string path_;
  std::vector<Line> old_lines_;
  bool is_started_ = false;
};

}  // namespace scry::cli
