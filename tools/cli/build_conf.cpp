#include "tools/cli/build_conf.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/error.h"

namespace scry::cli {
namespace {

namespace fs = std::filesystem;

std::string trim(const std::string& text) {
  const size_t start = text.find_first_not_of(" \t\r");
  if (start == std::string::npos) return "";
  return text.substr(start, text.find_last_not_of(" \t\r") + 1 - start);
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items;
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ';');) {
    if (item = trim(item); !item.empty()) items.push_back(item);
  }
  return items;
}

}  // namespace

std::string read_text(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw Error(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
  return text;
}

BuildConf parse_build_conf(const std::string& text, const std::string& file,
                           const std::string& prefix) {
  BuildConf conf;
  conf.text = text;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    const size_t equals = line.find('=');
    const std::string key = trim(line.substr(0, equals));
    const std::string value = equals == std::string::npos
                                  ? ""
                                  : replace_all(trim(line.substr(equals + 1)), "@PREFIX@", prefix);
    if (key == "compiler") {
      conf.compiler = value;
    } else if (key == "flags") {
      conf.flags = split_list(value);
    } else if (key == "include") {
      conf.include = split_list(value);
    } else if (key == "libs") {
      conf.libs = split_list(value);
    } else {
      throw Error(
          fmt::format("{}:{}: '{}' is none of compiler, flags, include, libs", file, number, key));
    }
  }
  if (conf.compiler.empty()) throw Error(fmt::format("{} names no compiler", file));
  return conf;
}

BuildConf read_build_conf() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) throw Error("this program's own place cannot be found in /proc");
  const fs::path prefix = program.parent_path().parent_path();
  const std::string file = (prefix / "share/scry/build.conf").string();
  if (!fs::exists(file, error)) {
    throw Error(fmt::format("model files cannot be built here: there is no {}", file));
  }
  return parse_build_conf(read_text(file), file, prefix.string());
}

}  // namespace scry::cli
