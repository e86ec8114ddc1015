// The file of --log: one JSON line per finished epoch.
#pragma once
#include <string>
#include <vector>

namespace scry::cli {

/// A log that ends up as that of an uninterrupted run. The file is not touched before the first
/// line is added or a run goes on; that replaces it, whole or not at all, and lines after it are
/// appended.
class TrainLog {
 public:
  struct Line {
    int epoch;
    std::string text;  ///< with its newline
  };

  /// No file if the path is empty. If `resume`, reads the lines that are there for restore().
  /// Throws DataError ("log.jsonl:3: …") if they are no log's, Error if it cannot be written.
  TrainLog(const std::string& path, bool resume);
  /// For a run that goes on after these epochs: theirs stay as they are in the file, those that it
  /// lacks (the process was killed between the checkpoint and the log) are put in, and others go.
  /// Throws Error.
  void restore(const std::vector<Line>& epochs);
  /// Throws Error.
  void add(const std::string& line);

 private:
  std::string path_;
  std::vector<Line> old_lines_;
  bool is_started_ = false;
};

}  // namespace scry::cli
