#include "tools/cli/train_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/examples_file.h"
#include "runtime/write_file.h"

namespace scry::cli {
namespace {

/// -1 if the line is none of a log.
int epoch_of(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("epoch") || !json["epoch"].is_number_integer()) return -1;
  return json["epoch"].get<int>();
}

}  // namespace

TrainLog::TrainLog(const std::string& path, bool resume) : path_(path) {
  if (path_.empty()) return;
  check_writable(path_);
  std::error_code ignored;
  if (!resume || !std::filesystem::is_regular_file(path_, ignored)) return;
  std::ifstream file(path_, std::ios::binary);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (file.eof()) break;  // no newline: the process was killed as it wrote the line
    const int epoch = epoch_of(line);
    if (epoch < 0) {
      throw DataError(fmt::format(
          "{}:{}: this is no line of a training log; give another file as --log", path_, number));
    }
    old_lines_.push_back({epoch, line + "\n"});
  }
}

void TrainLog::add(int epoch, const std::string& line) {
  if (path_.empty()) return;
  if (!is_started_) {
    std::string text;
    for (const Line& old : old_lines_) {
      if (old.epoch < epoch) text += old.text;
    }
    write_file(path_, text + line);
    is_started_ = true;
    return;
  }
  std::ofstream file(path_, std::ios::binary | std::ios::app);
  if (!(file << line << std::flush)) {
    throw Error(fmt::format("{} cannot be written: {}", path_, std::strerror(errno)));
  }
}

}  // namespace scry::cli
