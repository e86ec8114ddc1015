// A page of pictures: what a command found, as one HTML file that needs no network.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/smc/ensemble_json.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace scry::cli {

/// What the page has beside its sections: names of files, seeds, and the like.
using ReportFacts = std::vector<std::pair<std::string, std::string>>;

/// The sections are objects with "kind", "title" and what tools/report draws of that kind.
struct Report {
  std::string title;
  ReportFacts facts = {};
  std::vector<Json> sections = {};
};

/// The page, whole. Whatever names and tags hold stays text.
std::string to_html(const Report& report);

/// `--report FILE`.
CLI::Option* add_report(CLI::App& app, std::string& path);

/// As written into the page; the version of Scry is one of them.
Json facts_json(const ReportFacts& facts);

/// The page without title and data, which stand where it says @TITLE@ and @DATA@. Made by
/// cmake/EmbedReport.cmake.
std::string_view report_page();

}  // namespace scry::cli
