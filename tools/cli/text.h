// Text for people: aligned columns, readable numbers, colours on a terminal.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scry::cli {

/// The columns of a terminal that the UTF-8 text takes.
int display_width(std::string_view text);
std::string pad_left(std::string_view text, int width);
std::string pad_right(std::string_view text, int width);

/// "1,234,567".
std::string group_digits(double value);
/// "3.4 MB".
std::string format_bytes(uint64_t bytes);
/// "1 file", "2 files".
std::string count_of(uint64_t count, std::string_view noun);

/// Marks text with colours, or leaves it as it is.
class Style {
 public:
  explicit Style(bool on) : on_(on) {}
  /// On if standard output is a terminal that shows colours.
  static Style for_stdout();

  std::string bold(std::string_view text) const { return mark("1", text); }
  std::string dim(std::string_view text) const { return mark("2", text); }
  std::string accent(std::string_view text) const { return mark("1;36", text); }
  std::string good(std::string_view text) const { return mark("32", text); }
  std::string bad(std::string_view text) const { return mark("1;31", text); }

 private:
  std::string mark(const char* code, std::string_view text) const;
  bool on_;
};

/// Rows of cells in aligned columns. A column in which nothing stands is left out.
class TextTable {
 public:
  struct Column {
    std::string header;
    bool right = false;  ///< aligned
  };
  enum class Look : uint8_t { kPlain, kDim, kAccent };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells, Look look = Look::kPlain);
  bool empty() const { return rows_.empty(); }
  std::string str(const Style& style, std::string_view indent = "  ") const;
  /// Of a table that comes in pieces: its columns become wider where they must, but no narrower,
  /// and only a piece that has something in a new column repeats the headers.
  struct Layout {
    std::vector<int> widths;  ///< 0: nothing has stood there yet
  };
  std::string str(const Style& style, std::string_view indent, Layout& layout) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Look look;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace scry::cli
