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

/// Reads one sequence to be tagged; throws DataError without the place.
class InputReader {
 public:
  InputReader(const Task& task, bool constrained) : task_(task), constrained_(constrained) {}

  void read(std::string_view text, InputLine& line) const {
    const size_t tab = text.find('\t');
    line.symbols = text.substr(0, tab);
    for (std::string_view word : split(line.symbols, " ")) {
      const std::optional<int> id = task_.x.find(word);
      if (!id) {
        throw DataError(fmt::format("step {}: {} is not in the input alphabet", line.x.size() + 1,
                                    quote(word)));
      }
      line.x.push_back(*id);
    }
    if (line.x.empty()) throw DataError("there are no symbols");
    if (!constrained_) return;
    if (tab == std::string_view::npos)
      throw DataError("there is no tab between symbols and allowed tags");
    const std::vector<std::string_view> sets = split(text.substr(tab + 1), " ");
    if (sets.size() != line.x.size()) {
      throw DataError(
          fmt::format("{} symbols but {} sets of allowed tags", line.x.size(), sets.size()));
    }
    line.allowed = TagSets(static_cast<int>(sets.size()), task_.y.size());
    for (size_t t = 0; t < sets.size(); ++t) {
      if (sets[t] != "*") line.allowed.allow_only(static_cast<int>(t) + 1, tags(sets[t], t + 1));
    }
  }

 private:
  std::vector<int> tags(std::string_view set, size_t step) const {
    if (const std::optional<int> id = task_.y.find(set)) return {*id};
    std::vector<int> ids;
    for (std::string_view name : split(set, "|")) {
      const std::optional<int> id = task_.y.find(name);
      if (!id) {
        throw DataError(
            fmt::format("step {}: {} is not in the output alphabet", step, quote(name)));
      }
      ids.push_back(*id);
    }
    return ids;
  }

  const Task& task_;
  bool constrained_;
};

/// Calls read(line number, text) for each line that is not blank. `name` is the file's, for
/// messages.
template <class Read>
void read_stream(std::istream& stream, const std::string& name, Read read) {
  std::string line;
  bool any = false;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::string_view text = line;
    if (number == 1 && text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a UTF-8 BOM
    while (text.ends_with('\r')) text.remove_suffix(1);
    if (text.find_first_not_of(" \t") == std::string_view::npos) continue;
    any = true;
    read(number, text);
  }
  if (stream.bad()) throw DataError(fmt::format("{} cannot be read", name));
  if (!any) throw DataError(fmt::format("{}: there is no example in it", name));
}

template <class Read>
void read_file(const std::string& path, Read read) {
  if (path == "-") return read_stream(std::cin, "standard input", read);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw DataError(fmt::format("{} is a folder", path));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw DataError(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
  read_stream(file, path, read);
}

}  // namespace

std::vector<Example> read_examples(const std::string& path, const Task& task) {
  const std::string name = path == "-" ? "standard input" : path;
  std::vector<Example> examples;
  read_file(path, [&](int number, std::string_view text) {
    examples.push_back(LineReader(name, number, task).read(text));
  });
  return examples;
}

std::vector<InputLine> read_inputs(const std::string& path, const Task& task, bool constrained) {
  const InputReader reader(task, constrained);
  std::vector<InputLine> lines;
  read_file(path, [&](int number, std::string_view text) {
    InputLine& line = lines.emplace_back();
    line.line = number;
    try {
      reader.read(text, line);
    } catch (const DataError& error) {
      line.error = error.what();
    }
  });
  return lines;
}

}  // namespace scry
