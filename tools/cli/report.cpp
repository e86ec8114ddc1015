#include "tools/cli/report.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/version.h"

namespace scry::cli {
namespace {

/// Of an HTML text.
std::string escape_text(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// JSON within a script element: without "<" nothing in it can end the element.
std::string escape_json(std::string_view json) {
  std::string escaped;
  for (char c : json) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// The text with what stands at each of these marks, which come in this order.
std::string fill(std::string_view text,
                 const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string filled;
  for (const auto& [mark, value] : values) {
    const size_t at = text.find(mark);
    filled.append(text.substr(0, at)).append(value);
    text.remove_prefix(at + mark.size());
  }
  return filled.append(text);
}

}  // namespace

Json facts_json(const ReportFacts& facts) {
  Json json = Json::array();
  for (const auto& [name, value] : facts) json.push_back(Json::array({name, value}));
  return json;
}

std::string to_html(const Report& report) {
  ReportFacts facts = report.facts;
  facts.emplace_back("made by", fmt::format("scry {}", version()));
  const Json data{{"facts", facts_json(facts)}, {"sections", report.sections}};
  // dump() leaves no bytes in the data that are no UTF-8; a title may be of a file's name.
  const std::string title =
      escape_text(nlohmann::json::parse(dump(Json(report.title))).get<std::string>());
  return fill(report_page(),
              {{"@TITLE@", title}, {"@TITLE@", title}, {"@DATA@", escape_json(dump(data))}});
}

CLI::Option* add_report(CLI::App& app, std::string& path) {
  return app
      .add_option("--report", path,
                  "Write a page with pictures here, too: one HTML file that needs no network "
                  "(docs/report.md)")
      ->type_name("FILE");
}

}  // namespace scry::cli
