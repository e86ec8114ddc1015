#include "tools/cli/train_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/stale_files.h"
#include "base/write_file.h"
#include "runtime/files/examples_file.h"

namespace scry::cli {
namespace {

/// -1 if the line is none of a log.
int epoch_of(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("epoch") || !json["epoch"].is_number_unsigned())
    return -1;
  const auto epoch = json["epoch"].get<uint64_t>();
  return epoch > INT_MAX ? -1 : static_cast<int>(epoch);
}

}  // namespace

TrainLog::TrainLog(const std::string& path, bool resume) : path_(path) {
  if (path_.empty()) return;
  remove_stale_temporaries(path_);
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

void TrainLog::restore(const std::vector<Line>& epochs) {
  if (path_.empty()) return;
  std::string text;
  for (const Line& line : epochs) {
    const auto old = std::find_if(old_lines_.begin(), old_lines_.end(),
                                  [&](const Line& each) { return each.epoch == line.epoch; });
    text += old == old_lines_.end() ? line.text : old->text;
  }
  write_file(path_, text);
  is_started_ = true;
}

void TrainLog::add(const std::string& line) {
  if (path_.empty()) return;
  if (!is_started_) {
    write_file(path_, line);
    is_started_ = true;
    return;
  }
  std::ofstream file(path_, std::ios::binary | std::ios::app);
  if (!(file << line << std::flush)) {
    throw Error(fmt::format("{} cannot be written: {}", path_, std::strerror(errno)));
  }
}

}  // namespace scry::cli
