#include "runtime/files/embeddings_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "base/quote.h"
#include "runtime/files/examples_file.h"

namespace scry {
namespace {

/// The number that is all of the word; nothing if it is none.
std::optional<double> number_of(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    return std::strtod(std::string(word).c_str(), nullptr);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<int64_t> count_of(std::string_view word) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size() || error != std::errc{} || value < 0) return std::nullopt;
  return value;
}

/// Takes the next word off the text; "" if there is none.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

/// The parameter to be filled, and the alphabet whose symbols are its rows.
struct Target {
  const Block& block;
  const Alphabet& alphabet;

  Target(const Program& program, const std::string& name)
      : block(find(program, name)), alphabet(alphabet_of(program)) {}

  size_t num_columns() const { return static_cast<size_t>(block.shape[1]); }
  std::string text() const {
    return fmt::format("parameter {} [{}, {}]", quote(block.name, 100), block.shape[0],
                       block.shape[1]);
  }

 private:
  static const Block& find(const Program& program, const std::string& name) {
    for (const Block& block : program.params) {
      if (block.name == name) return block;
    }
    throw Error(fmt::format("the model has no parameter {}", quote(name, 100)));
  }
  const Alphabet& alphabet_of(const Program& program) const {
    const Task& task = program.task;
    if (block.shape.rank() == 2) {
      if (block.shape[0] == task.x.size()) return task.x;
      if (block.shape[0] == task.y.size()) return task.y;
    }
    throw Error(fmt::format(
        "parameter {} is no embedding: it has no row for each of the {} input or {} output symbols",
        quote(block.name, 100), task.x.size(), task.y.size()));
  }
};

/// Reads line by line, and keeps the rows of the alphabet's symbols until the whole file was found
/// to be in order.
class EmbeddingsReader {
 public:
  EmbeddingsReader(const std::string& path, const Target& target, Precision precision)
      : path_(path),
        target_(target),
        precision_(precision),
        line_(kMaxWordBytes + target.num_columns() * kMaxNumberBytes),
        vector_(target.num_columns()),
        found_(static_cast<size_t>(target.alphabet.size())),
        rows_(found_.size() * vector_.size()) {}

  void read() {
    std::error_code ignored;
    if (std::filesystem::is_directory(path_, ignored))
      throw DataError(fmt::format("{} is a folder", path_));
    errno = 0;
    std::ifstream file(path_, std::ios::binary);
    if (!file) throw DataError(fmt::format("{} cannot be read: {}", path_, std::strerror(errno)));
    for (number_ = 1; next_line(file); ++number_) read_line();
    if (num_words_ == 0) throw DataError(fmt::format("{}: there is no vector in it", path_));
    if (num_promised_ && *num_promised_ != num_words_) {
      throw DataError(fmt::format("{}: its first line says {} words, but it has {}{}", path_,
                                  *num_promised_, num_words_,
                                  num_words_ < *num_promised_ ? ": it is cut short" : ""));
    }
  }

  EmbeddingCoverage copy_to(RealBuffer& values) const {
    EmbeddingCoverage coverage{0, target_.alphabet.size()};
    for (size_t id = 0; id < found_.size(); ++id) {
      if (!found_[id]) continue;
      ++coverage.num_found;
      for (size_t k = id * vector_.size(); k < (id + 1) * vector_.size(); ++k)
        values.set(target_.block.offset + static_cast<int64_t>(k), rows_[k]);
    }
    return coverage;
  }

 private:
  // A line beyond these is no vector, and need not be held to say so.
  static constexpr size_t kMaxWordBytes = 1 << 16, kMaxNumberBytes = 64;

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw DataError(
        fmt::format("{}:{}: {}", path_, number_, fmt::format(format, std::forward<Args>(args)...)));
  }

  bool next_line(std::ifstream& file) {
    file.getline(line_.data(), static_cast<std::streamsize>(line_.size()));
    if (file.bad()) throw DataError(fmt::format("{} cannot be read", path_));
    if (file.fail() && !file.eof())
      fail("the line has more than {} bytes: this is no file of vectors", line_.size() - 1);
    if (file.eof() && file.gcount() == 0) return false;
    ends_here_ = file.eof();
    text_ = {line_.data(), static_cast<size_t>(file.gcount()) - (ends_here_ ? 0 : 1)};
    if (number_ == 1 && text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);  // a UTF-8 BOM
    while (text_.ends_with('\r')) text_.remove_suffix(1);
    return true;
  }

  void read_line() {
    if (number_ == 1 && read_header()) return;
    std::string_view text = text_;
    const std::string_view word = take_word(text);
    if (word.empty()) return;
    ++num_words_;
    size_t num_values = 0;
    for (std::string_view value = take_word(text); !value.empty(); value = take_word(text)) {
      const std::optional<double> parsed = number_of(value);
      if (!parsed) fail("{} is not a number; a word cannot have spaces in it", quote(value));
      if (!std::isfinite(*parsed)) fail("{} is not a finite number", quote(value));
      if (precision_ == Precision::kFloat && !std::isfinite(static_cast<float>(*parsed)))
        fail("{} is too large for float; use double precision", quote(value));
      if (num_values < vector_.size()) vector_[num_values] = *parsed;
      ++num_values;
    }
    if (num_values != vector_.size()) {
      fail("the vector of {} has {} number{}, but {} needs {}{}", quote(word), num_values,
           num_values == 1 ? "" : "s", target_.text(), vector_.size(),
           ends_here_ && num_values < vector_.size() ? "; is the file cut short?" : "");
    }
    keep(word);
  }

  /// word2vec's "words d".
  bool read_header() {
    std::string_view text = text_;
    const std::optional<int64_t> num_words = count_of(take_word(text));
    const std::optional<int64_t> num_columns = count_of(take_word(text));
    if (!num_words || !num_columns || !take_word(text).empty()) return false;
    if (static_cast<size_t>(*num_columns) != vector_.size()) {
      fail("its vectors have {} number{}, but {} needs {}", *num_columns,
           *num_columns == 1 ? "" : "s", target_.text(), vector_.size());
    }
    num_promised_ = *num_words;
    return true;
  }

  void keep(std::string_view word) {
    const std::optional<int> id = target_.alphabet.find(word);
    if (!id || target_.alphabet.name(*id) != word) return;  // the alphabet reads it as <unk>
    const auto row = static_cast<size_t>(*id);
    if (found_[row]) return;
    found_[row] = true;
    std::copy(vector_.begin(), vector_.end(),
              rows_.begin() + static_cast<std::ptrdiff_t>(row * vector_.size()));
  }

  const std::string& path_;
  const Target& target_;
  Precision precision_;
  std::vector<char> line_;
  std::string_view text_;   // of the line, in line_
  bool ends_here_ = false;  // the line ends with the file
  int64_t number_ = 0, num_words_ = 0;
  std::optional<int64_t> num_promised_;
  std::vector<double> vector_;
  std::vector<bool> found_;
  std::vector<double> rows_;
};

}  // namespace

EmbeddingCoverage read_embeddings(const std::string& path, const Program& program,
                                  const std::string& parameter, Parameters& parameters) {
  const Target target(program, parameter);
  EmbeddingsReader reader(path, target, program.precision);
  reader.read();
  const EmbeddingCoverage coverage = reader.copy_to(parameters.values);
  parameters.prepare(program);
  return coverage;
}

}  // namespace scry
