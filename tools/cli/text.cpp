#include "tools/cli/text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace scry::cli {

int display_width(std::string_view text) {
  int width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) == 0x80) continue;  // continues a character
    // U+0300 to U+036F, such as the bar of s̄, stand over the character before.
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte == 0xcc || (byte == 0xcd && next < 0xb0)) continue;
    ++width;
  }
  return width;
}

std::string pad_left(std::string_view text, int width) {
  return std::string(static_cast<size_t>(std::max(0, width - display_width(text))), ' ') +
         std::string(text);
}

std::string pad_right(std::string_view text, int width) {
  return std::string(text) +
         std::string(static_cast<size_t>(std::max(0, width - display_width(text))), ' ');
}

std::string group_digits(double value) {
  std::string digits = fmt::format("{:.0f}", std::abs(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), 1, ',');
  }
  return (value <= -0.5 ? "-" : "") + digits;
}

std::string format_bytes(uint64_t bytes) {
  if (bytes < 1000) return count_of(bytes, "byte");
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"kB", "MB", "GB", "TB"}) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  return fmt::format("{:.{}f} {}", value, value < 9.95 ? 1 : 0, unit);
}

std::string count_of(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

Style Style::for_stdout() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool wanted = (no_color == nullptr || *no_color == '\0') && term != nullptr &&
                      std::string_view(term) != "dumb";
  return Style(wanted && isatty(STDOUT_FILENO) == 1);
}

std::string Style::mark(const char* code, std::string_view text) const {
  return on_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

void TextTable::add(std::vector<std::string> cells, Look look) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), look});
}

std::string TextTable::str(const Style& style, std::string_view indent) const {
  Layout layout;
  return str(style, indent, layout);
}

std::string TextTable::str(const Style& style, std::string_view indent, Layout& layout) const {
  const std::vector<int> before = layout.widths;
  std::vector<int>& widths = layout.widths;
  widths.resize(columns_.size(), 0);
  std::vector<std::string> headers;
  for (const Column& column : columns_) headers.push_back(column.header);
  for (const Row& row : rows_) {
    for (size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row.cells[i]));
    }
  }
  for (size_t i = 0; i < headers.size(); ++i) {
    if (widths[i] > 0) widths[i] = std::max(widths[i], display_width(headers[i]));
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (widths[i] == 0) continue;
      if (!text.empty()) text += "  ";
      text += columns_[i].right ? pad_left(cells[i], widths[i]) : pad_right(cells[i], widths[i]);
    }
    return text.substr(0, text.find_last_not_of(' ') + 1);
  };
  std::string text;
  bool is_new = before.empty();
  for (size_t i = 0; i < before.size(); ++i) is_new = is_new || (before[i] == 0 && widths[i] > 0);
  if (is_new &&
      std::any_of(headers.begin(), headers.end(), [](const auto& h) { return !h.empty(); })) {
    text += std::string(indent) + style.dim(line(headers)) + "\n";
  }
  for (const Row& row : rows_) {
    const std::string plain = line(row.cells);
    text += std::string(indent) +
            (row.look == Look::kAccent ? style.accent(plain)
             : row.look == Look::kDim  ? style.dim(plain)
                                       : plain) +
            "\n";
  }
  return text;
}

}  // namespace scry::cli
