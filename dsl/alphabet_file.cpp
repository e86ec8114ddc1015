// Alphabet::from_file.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/quote.h"
#include "base/utf8.h"
#include "dsl/task.h"

namespace scry {
namespace {

constexpr const char* kForm = "a vocabulary has one symbol a line";
constexpr size_t kMaxSymbolBytes = 4096;  // what is longer is no symbol, and need not be held

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

Alphabet Alphabet::from_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw DataError(fmt::format("{}: it is a folder; {}", path, kForm));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw DataError(
        fmt::format("{}: it cannot be read ({}); {}", path, std::strerror(errno), kForm));
  }
  Alphabet alphabet;
  std::vector<int> lines;  // of the symbols
  std::string buffer(kMaxSymbolBytes, '\0');
  for (int number = 1; !file.eof(); ++number) {
    const auto fail = [&](const std::string& message) {
      throw DataError(fmt::format("{}:{}: {}", path, number, message));
    };
    file.getline(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    if (file.bad()) throw DataError(fmt::format("{}: it cannot be read", path));
    if (file.fail() && !file.eof()) {
      fail(fmt::format("the line has more than {} bytes; {}", kMaxSymbolBytes - 1, kForm));
    }
    const auto size = static_cast<size_t>(file.gcount()) - (file.eof() ? 0 : 1);
    std::string_view text(buffer.data(), size);
    if (number == 1 && text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // UTF-8's mark
    const std::string_view symbol = trim(text);
    if (symbol.empty()) continue;
    if (!is_utf8(symbol)) fail("it is not UTF-8; convert the file, as by iconv -t UTF-8");
    if (symbol.find('\0') != std::string_view::npos) fail("there is a zero byte in it");
    for (const char c : symbol) {
      if (is_blank(c)) {
        fail(fmt::format("{} has a blank in it; {}, without counts or comments", quote(symbol),
                         kForm));
      }
    }
    const auto [old, is_new] = alphabet.ids_.emplace(symbol, alphabet.size());
    if (!is_new) {
      fail(fmt::format("{} stands twice, first in line {}; leave one", quote(symbol),
                       lines[static_cast<size_t>(old->second)]));
    }
    alphabet.symbols_.emplace_back(symbol);
    lines.push_back(number);
  }
  if (alphabet.size() == 0) {
    throw DataError(fmt::format("{}: there is no symbol in it; {}", path, kForm));
  }
  return alphabet;
}

}  // namespace scry
