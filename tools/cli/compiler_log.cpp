#include "tools/cli/compiler_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace scry::cli {
namespace {

using Text = std::string_view;

bool contains(Text text, Text part) { return text.find(part) != Text::npos; }

/// What stands before the next line's end, which is taken from `text` with it.
Text take_line(Text& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const Text line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The digits at `from`, if a colon follows them; else nothing.
Text digits_at(Text text, size_t from) {
  size_t end = from;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end < text.size() && text[end] == ':' ? text.substr(from, end - from) : Text();
}

/// "file:line: rest" or "file:line:column: rest", as far as it goes.
struct Place {
  Text file, line, rest;
};
std::optional<Place> parse_place(Text text) {
  for (size_t colon = text.find(':', 1); colon != Text::npos; colon = text.find(':', colon + 1)) {
    const Text line = digits_at(text, colon + 1);
    if (line.empty()) continue;
    size_t at = colon + 1 + line.size() + 1;
    if (const Text column = digits_at(text, at); !column.empty()) at += column.size() + 1;
    const size_t rest = text.find_first_not_of(" \t", at);
    if (rest == at || rest == Text::npos) continue;
    return Place{text.substr(0, colon), line, text.substr(rest)};
  }
  return std::nullopt;
}

/// The message of an error; nothing for notes and warnings.
std::optional<Text> parse_error(Text rest) {
  if (rest.starts_with("fatal ")) rest.remove_prefix(6);
  if (!rest.starts_with("error: ")) return std::nullopt;
  return rest.substr(7);
}

/// The lines around an error in a header that say who asked for it: g++ has "required from here"
/// before it, clang "note: in instantiation" after; macros are noted after it by g++.
bool says_who_asked(Text rest) {
  return rest.starts_with("required from") || rest.starts_with("required by") ||
         rest.starts_with("note: in instantiation") ||
         rest.starts_with("note: in expansion of macro");
}

/// What a user can do about an error of C++ that is a misunderstanding of the DSL; else the error.
std::string explain(Text message) {
  const bool of_symbol = contains(message, "scry::Sym") || contains(message, "scry::Input");
  const auto calls = [&](Text function) { return contains(message, fmt::format("{}(", function)); };
  if (contains(message, "switch quantity not an integer") ||
      (of_symbol && (contains(message, "bool") || contains(message, "expression of integer")))) {
    return "a symbol has no value while the model is traced, so if, ?:, while and switch cannot "
           "test it: use select(condition, a, b)";
  }
  const bool of_number = contains(message, "scry::Expr") || contains(message, "scry::Parameter") ||
                         contains(message, "double") || contains(message, "float");
  const bool no_match = contains(message, "no match") || contains(message, "invalid operands");
  if (of_symbol && of_number && no_match) {
    return fmt::format("a symbol and a real number do not mix: use to_real(symbol) ({})", message);
  }
  if (of_symbol && no_match && (calls("min") || calls("max") || calls("clamp"))) {
    return "std::min, std::max and std::clamp do not know symbols: use min(…), max(…) or clamp(…) "
           "without std::, or select(condition, a, b)";
  }
  if (of_symbol && !of_number && contains(message, "cannot convert")) {
    return fmt::format(
        "a symbol has no value while the model is traced: keep it a Sym, or use to_real(symbol) "
        "({})",
        message);
  }
  return std::string(message);
}

/// What is known of the first error.
struct Report {
  std::string_view message, file, line;
  Text asked_before;              ///< the model file's line, from lines before the error
  std::vector<Text> asked_after;  ///< and from lines after it

  std::string str(Text model_file) const {
    // Only SCRY_MODEL() defines it; the lines after name the second use and the first.
    if (contains(message, "scry_model_place") && contains(message, "redefinition")) {
      const Text here = asked_after.empty() ? line : asked_after.front();
      const std::string other =
          asked_after.size() < 2 ? "" : fmt::format(" (the other is at line {})", asked_after[1]);
      return fmt::format("{}:{}: there are two SCRY_MODEL(): leave one{}", model_file, here, other);
    }
    const Text asked = !asked_before.empty()  ? asked_before
                       : !asked_after.empty() ? asked_after.front()
                                              : Text();
    if (file == model_file || asked.empty()) {
      return fmt::format("{}:{}: {}", file, line, explain(message));
    }
    return fmt::format("{}:{}: {}", model_file, asked, explain(message));
  }
};

}  // namespace

std::string first_error(const std::string& log, const std::string& model_file) {
  std::optional<Report> report;
  Text asked_before, linking, last;
  for (Text left = log; !left.empty();) {
    const Text text = take_line(left);
    if (!text.empty()) last = text;
    for (const Text kind : {"undefined reference to ", "multiple definition of "}) {
      if (linking.empty() && contains(text, kind)) linking = text.substr(text.find(kind));
    }
    const std::optional<Place> at = parse_place(text);
    if (!at) continue;
    if (const std::optional<Text> message = parse_error(at->rest)) {
      if (report) break;  // the second error
      report = Report{*message, at->file, at->line, asked_before, {}};
    } else if (at->rest.starts_with("warning: ")) {
      if (report) break;
      asked_before = {};
    } else if (at->file == model_file && says_who_asked(at->rest)) {
      if (report) {
        report->asked_after.push_back(at->line);
      } else {
        asked_before = at->line;
      }
    } else if (report && at->file == model_file && contains(at->rest, "previous")) {
      // clang names the places themselves, not macros that were expanded there.
      if (report->asked_after.empty()) report->asked_after.push_back(report->line);
      report->asked_after.push_back(at->line);
    }
  }
  if (report) return report->str(model_file);
  if (contains(linking, "scry_model_place")) {
    return fmt::format("{}: another file that is linked has a SCRY_MODEL() too: leave one",
                       model_file);
  }
  return fmt::format("{}: {}", model_file,
                     !linking.empty() ? linking
                     : last.empty()   ? Text("the compiler failed")
                                      : last);
}

std::vector<std::string> parse_dependencies(const std::string& rule) {
  std::vector<std::string> files;
  std::string file;
  const auto end_file = [&] {
    if (!file.empty()) files.push_back(std::exchange(file, ""));
  };
  for (size_t i = std::min(rule.size(), rule.find(": ") + 1); i < rule.size(); ++i) {
    const char c = rule[i], next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (c == '\\' && next == '\n') {
      ++i, end_file();
    } else if ((c == '\\' && (next == ' ' || next == '#')) || (c == '$' && next == '$')) {
      file += next, ++i;
    } else if (c == ' ' || c == '\n') {
      end_file();
    } else {
      file += c;
    }
  }
  end_file();
  return files;
}

}  // namespace scry::cli
