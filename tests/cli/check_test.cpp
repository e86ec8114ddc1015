#include <nlohmann/json.hpp>

#include "compiler/enzyme.h"
#include "tests/catch.h"
#include "tests/cli/shell.h"
#include "tools/cli/build_conf.h"
#include "tools/cli/lengths.h"

namespace scry {
namespace {

using test::lines_of;
using test::Sandbox;

TEST_CASE("check has one row for each length and says that all gradients agree") {
  const Sandbox box;
  const auto result = box.program("lesson_01_hmm check --lengths 1,3-4 --differentiator adjoint");
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
  const std::vector<std::string> lines = lines_of(result.out);
  REQUIRE(lines.size() == 5);
  CHECK(lines[1].starts_with("     1  adjoint"));
  CHECK(lines[2].starts_with("     3  adjoint"));
  CHECK(lines[3].starts_with("     4  adjoint"));
  CHECK(lines[4].starts_with("all gradients agree"));
}

TEST_CASE("check says why Enzyme is skipped where there is none") {
  const Sandbox box;
  const auto result = box.program("lesson_01_hmm check --lengths 1");
  CHECK(result.exit_code == 0);
  CHECK(result.out.starts_with("enzyme is skipped: switched off by SCRY_ENZYME=off\n"));
  const auto both = box.program("lesson_01_hmm check --lengths 1 --differentiator both");
  CHECK(both.exit_code == 1);
  CHECK(both.err ==
        "scry: Enzyme was asked for, but there is none: switched off by SCRY_ENZYME=off\n");
}

TEST_CASE("check compares the adjoint and Enzyme where the plugin is found") {
  const Sandbox box;
  const EnzymeSearch search = find_enzyme();
  if (search.path.empty() || !check_enzyme_plugin(search.path).empty()) {
    WARN("SKIPPED: " << search.reason);
    return;
  }
  const auto result = box.program("lesson_01_hmm check --lengths 2", "");
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("     2  adjoint") != std::string::npos);
  CHECK(result.out.find("     2  enzyme") != std::string::npos);
}

TEST_CASE("a file that is no plugin for this LLVM is named in one line, and the adjoint is used") {
  const Sandbox box;
  const cli::BuildConf conf = cli::parse_build_conf(
      test::read_file(test::bin_dir() + "/../share/scry/build.conf"), "build.conf", "");
  test::write_text(box.path("text.so"), "not a library\n");
  test::write_text(box.path("old.cpp"), "extern const char linked[] = \"libLLVM-13.so.1\";\n");
  REQUIRE(box.run(conf.compiler + " -shared -fPIC old.cpp -o old.so").exit_code == 0);
  const std::vector<std::pair<std::string, std::string>> cases{
      {"text.so", "it is not a shared library"},
      {"old.so", "it is for LLVM 13, but Scry uses LLVM " + llvm_major()},
  };
  for (const auto& [plugin, reason] : cases) {
    CAPTURE(plugin);
    const std::string set = "SCRY_ENZYME=" + box.path(plugin).string();
    const auto check = box.program("lesson_01_hmm check --lengths 1", set);
    CHECK(check.exit_code == 0);
    CHECK(check.out.find("all gradients agree") != std::string::npos);
    CHECK(check.err == "scry: the Enzyme plugin " + box.path(plugin).string() +
                           " cannot be used: " + reason + "; checking the adjoint alone\n");
    const auto ir = box.program("lesson_01_hmm graph --ir=emitted --stage score_tag", set);
    CHECK(ir.exit_code == 0);
    CHECK(ir.out.find("define void @score_tag.gradient(") != std::string::npos);
    CHECK(lines_of(ir.err).size() == 1);
    CHECK(ir.err.find(reason) != std::string::npos);
    const auto info = nlohmann::json::parse(box.program("scry info --json", set).out);
    CHECK(info["differentiator"]["auto"] == "adjoint");
    CHECK(info["differentiator"]["reason"] == reason);
    const auto forced = box.program("lesson_01_hmm check --lengths 1 --differentiator enzyme", set);
    CHECK(forced.exit_code == 1);
    CHECK(lines_of(forced.err).size() == 1);
  }
}

TEST_CASE("lists of lengths are read in order") {
  CHECK(cli::parse_lengths("1-3") == std::vector<int>{1, 2, 3});
  CHECK(cli::parse_lengths("8") == std::vector<int>{8});
  CHECK(cli::parse_lengths("5,1-2") == std::vector<int>{5, 1, 2});
}

}  // namespace
}  // namespace scry
