#include "tools/cli/compiler_log.h"

#include <fmt/format.h>

#include <regex>
#include <sstream>
#include <utility>

namespace scry::cli {
namespace {

std::string at_line(const std::string& file, const std::string& line, const std::string& message) {
  return fmt::format("{}:{}: {}", file, line, message);
}

}  // namespace

std::string first_error(const std::string& log, const std::string& model_file) {
  // "file:line:column: error: message", and the lines around it that say who asked for a template:
  // g++ has "file:line:column:   required from here" before, clang "note: in instantiation" after.
  static const std::regex place(R"(^(.+?):(\d+):(?:\d+:)?\s+(.*)$)");
  static const std::regex error(R"(^(?:fatal )?error: (.*)$)");
  static const std::regex asked(R"(^(?:required (?:from|by)|note: in instantiation).*)");
  static const std::regex link(R"((?:undefined reference to|multiple definition of) .*)");
  std::string message, file, line, linking, last;
  std::string asked_at;  // the model file's line, from g++'s lines before the error
  std::istringstream lines(log);
  for (std::string text; std::getline(lines, text);) {
    if (!text.empty()) last = text;
    std::smatch at, match;
    if (linking.empty() && std::regex_search(text, match, link)) linking = match.str();
    if (!std::regex_match(text, at, place)) continue;
    const std::string rest = at[3];
    const bool in_model = at[1] == model_file;
    if (std::regex_match(rest, match, error)) {
      if (!message.empty()) break;  // the second error
      message = match[1], file = at[1], line = at[2];
      if (in_model) break;
      if (!asked_at.empty()) return at_line(model_file, asked_at, message);
    } else if (in_model && std::regex_match(rest, asked)) {
      if (!message.empty()) return at_line(model_file, at[2], message);
      asked_at = at[2];
    }
  }
  if (!message.empty()) return at_line(file, line, message);
  return fmt::format("{}: {}", model_file,
                     !linking.empty() ? linking
                     : last.empty()   ? "the compiler failed"
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
