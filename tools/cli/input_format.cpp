#include "tools/cli/input_format.h"

#include <fmt/format.h>

#include <charconv>

#include "tools/cli/command.h"
#include "tools/cli/options.h"

namespace scry::cli {
namespace {

/// "2" or "2,4", counted from 1; throws UsageError.
void read_columns(const std::string& text, FileFormat& format) {
  const auto number = [&](std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_whole = error == std::errc() && end == digits.data() + digits.size();
    if (!is_whole || value < 1) {
      throw UsageError(fmt::format(
          "--columns: '{}' is not a column of symbols and perhaps one of tags, such as 1,2", text));
    }
    return value;
  };
  const size_t comma = text.find(',');
  format.x_column = number(std::string_view(text).substr(0, comma));
  if (comma == std::string::npos) return;
  format.y_column = number(std::string_view(text).substr(comma + 1));
  if (format.x_column == format.y_column)
    throw UsageError(
        fmt::format("--columns: symbols and tags are both in column {}", format.x_column));
}

}  // namespace

FileFormat InputFormatOption::format() const {
  FileFormat format;
  format.has_comments = has_comments;
  format.layout = layout == "lines"   ? FileLayout::kLines
                  : layout == "conll" ? FileLayout::kConll
                  : layout == "jsonl" ? FileLayout::kEnsembles
                                      : FileLayout::kAuto;
  if (columns.empty()) return format;
  if (format.layout == FileLayout::kLines || format.layout == FileLayout::kEnsembles)
    throw UsageError(fmt::format("--columns is for --input-format conll; {} have none", layout));
  format.layout = FileLayout::kConll;
  read_columns(columns, format);
  return format;
}

std::string InputFormatOption::words() const {
  return (layout == "auto" ? "" : " --input-format " + layout) +
         (columns.empty() ? "" : " --columns " + columns) + (has_comments ? " --comments" : "");
}

void add_input_format(CLI::App& app, InputFormatOption& option, const std::string& names,
                      bool with_ensembles) {
  std::vector<std::string> choices{"auto", "lines", "conll"};
  if (with_ensembles) choices.emplace_back("jsonl");
  add_choice(app, names, option.layout, choices,
             fmt::format("A sequence a line, or a symbol a line in columns{}; auto tells them "
                         "apart, and refuses what may be either",
                         with_ensembles ? ", or ensembles" : ""));
  app.add_option("--columns", option.columns,
                 "conll: the column of symbols and that of tags; the first and the last if not "
                 "given")
      ->type_name("X[,Y]");
  app.add_flag("--comments", option.has_comments,
               "Lines that start with # are comments; else only where they cannot be symbols");
}

}  // namespace scry::cli
