#include "runtime/examples_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

#include "runtime/quote.h"

namespace scry {
namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t start = text.find_first_not_of(separators);
    if (start == std::string_view::npos) return words;
    text.remove_prefix(start);
    words.push_back(text.substr(0, text.find_first_of(separators)));
    text.remove_prefix(words.back().size());
  }
}

class LineReader {
 public:
  LineReader(const std::string& file, int line, const Task& task)
      : place_(fmt::format("{}:{}: ", file, line)), line_(line), task_(task) {}

  Example read(std::string_view text) const {
    const size_t tab = text.find('\t');
    if (tab == std::string_view::npos) fail("there is no tab between symbols and tags");
    const std::string_view symbols = text.substr(0, tab), tags = text.substr(tab + 1);
    if (tags.find('\t') != std::string_view::npos) {
      fail("there is more than one tab; a line is symbols, a tab, and tags");
    }
    Example example{numbers(symbols, task_.x, "input"), numbers(tags, task_.y, "output"),
                    std::string(symbols), std::string(tags), line_};
    const auto count = [](size_t n, const char* what) {
      return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    if (example.x.size() != example.y.size()) {
      fail(count(example.x.size(), "symbol") + " but " + count(example.y.size(), "tag"));
    }
    if (example.x.empty()) fail("there are no symbols");
    return example;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { throw DataError(place_ + message); }

  std::vector<int> numbers(std::string_view text, const Alphabet& alphabet,
                           const char* which) const {
    std::vector<int> ids;
    for (std::string_view word : split(text, " ")) {
      const std::optional<int> id = alphabet.find(word);
      if (!id) fail(fmt::format("{} is not in the {} alphabet", quote(word), which));
      ids.push_back(*id);
    }
    return ids;
  }

  std::string place_;
  int line_;
  const Task& task_;
};

std::vector<Example> read_stream(std::istream& stream, const std::string& name, const Task& task) {
  std::vector<Example> examples;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::string_view text = line;
    if (number == 1 && text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a UTF-8 BOM
    while (text.ends_with('\r')) text.remove_suffix(1);
    if (text.find_first_not_of(" \t") == std::string_view::npos) continue;
    examples.push_back(LineReader(name, number, task).read(text));
  }
  if (stream.bad()) throw DataError(fmt::format("{} cannot be read", name));
  if (examples.empty()) throw DataError(fmt::format("{}: there is no example in it", name));
  return examples;
}

}  // namespace

std::vector<Example> read_examples(const std::string& path, const Task& task) {
  if (path == "-") return read_stream(std::cin, "standard input", task);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw DataError(fmt::format("{} is a folder", path));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw DataError(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
  return read_stream(file, path, task);
}

}  // namespace scry
