#include <set>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using test::lines_of;
using test::Sandbox;

const char* const kModel = R"(#include <scry.h>
#include "sizes.h"
using namespace scry;

struct Bigram : Model {
  Parameter table;
  explicit Bigram(const Task& task)
      : Model(task, symbol_state("tag", task.y.size())),
        table(param("table", {task.y.size(), task.y.size()}, Init::normal(kScale))) {}
  Step step(const State& s, const Input&, const Sym& y) const override {
    return {.score = table[s.sym("tag")][y], .state = {y}};
  }
};

SCRY_MODEL() { return {std::make_shared<Bigram>(Task{Alphabet::of("a b"), Alphabet::of("0 1")})}; }
)";

std::set<std::string> built_programs(const Sandbox& box) {
  std::set<std::string> programs;
  for (const auto& entry : std::filesystem::directory_iterator(box.cache() / "models")) {
    CHECK(entry.path().string().find(".tmp") == std::string::npos);
    if (entry.path().extension().empty()) programs.insert(entry.path().filename().string());
  }
  return programs;
}

TEST_CASE("a model file is built once, and again when it or what it includes has changed") {
  const Sandbox box;
  const std::string building = "scry: building models/bigram.cpp …\n";
  std::filesystem::create_directory(box.path("models"));
  test::write_text(box.path("models/bigram.cpp"), kModel);
  test::write_text(box.path("models/sizes.h"), "constexpr double kScale = 1;\n");
  test::write_text(box.path("in.tsv"), "a b\t0 1\n");
  // The options stand on both sides of the model file.
  const std::string score = "scry score --seed 3 models/bigram.cpp --input in.tsv";

  const std::string random = "scry: there is no --params: the weights are random, of seed 3\n";
  const auto first = box.program(score);
  CHECK(first.exit_code == 0);
  CHECK(first.err == building + random);
  REQUIRE(lines_of(first.out).size() == 2);
  CHECK(lines_of(first.out)[0] == "x\ty\tG_T\tlog_p");  // there is no proposal

  const auto again = box.program(score);
  CHECK(again.err == random);
  CHECK(again.out == first.out);
  CHECK(box.program("scry graph models/bigram.cpp --stage score --format=json").err.empty());

  test::write_text(box.path("models/sizes.h"), "constexpr double kScale = 2;\n");
  const auto changed = box.program(score);
  CHECK(changed.exit_code == 0);
  CHECK(changed.err == building + random);
  CHECK(changed.out != first.out);

  test::write_text(box.path("models/sizes.h"), "constexpr double kScale = 1;\n");
  const auto back = box.program(score);
  CHECK(back.err == random);
  CHECK(back.out == first.out);
  CHECK(built_programs(box).size() == 2);
}

TEST_CASE("several commands may build the same model file at once") {
  const Sandbox box;
  test::write_text(box.path("bigram.cpp"), kModel);
  test::write_text(box.path("sizes.h"), "constexpr double kScale = 1;\n");
  const std::string scry = test::bin_dir() + "/scry graph bigram.cpp --stage score";
  const auto result = box.run("sh -c '" + scry + " >a & " + scry + " >b & wait'");
  CHECK(result.exit_code == 0);
  CHECK(lines_of(test::read_file(box.path("a"))).size() > 3);
  CHECK(test::read_file(box.path("a")) == test::read_file(box.path("b")));
  CHECK(built_programs(box).size() == 1);
}

TEST_CASE("a C++ error in a model file is one line at its place, with the full log's name") {
  const Sandbox box;
  test::write_text(box.path("sizes.h"), "constexpr double kScale = 1;\n");
  std::string text = kModel;
  text.replace(text.find("table[s.sym(\"tag\")][y]"), 22, "tanh(y)");
  test::write_text(box.path("wrong.cpp"), text);
  const auto result = box.program("scry graph wrong.cpp");
  CHECK(result.exit_code == 1);
  CHECK(result.out.empty());
  const std::vector<std::string> lines = lines_of(result.err);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "scry: building wrong.cpp …");
  CHECK(lines[1].starts_with("wrong.cpp:11: "));
  // g++ names the type, clang the function.
  CHECK((lines[1].find("Sym") != std::string::npos || lines[1].find("tanh") != std::string::npos));
  const size_t at = lines[1].find("(full log: ") + 11;
  const std::string log = test::read_file(lines[1].substr(at, lines[1].size() - at - 1));
  CHECK(log.find("wrong.cpp:11:") != std::string::npos);
  CHECK(built_programs(box).empty());
}

TEST_CASE("a model file that tests a symbol with if is told to use select") {
  const Sandbox box;
  test::write_text(box.path("sizes.h"), "constexpr double kScale = 1;\n");
  std::string text = kModel;
  text.replace(text.find("    return {.score"), 4, "    if (y == 0) return {};\n    ");
  test::write_text(box.path("wrong.cpp"), text);
  const auto result = box.program("scry graph wrong.cpp");
  CHECK(result.exit_code == 1);
  REQUIRE(lines_of(result.err).size() == 2);
  CHECK(
      lines_of(result.err)[1].starts_with("wrong.cpp:11: a symbol has no value while the model is "
                                          "traced"));
  CHECK(lines_of(result.err)[1].find("use select(") != std::string::npos);
}

TEST_CASE("a model file with two SCRY_MODEL() is told both lines") {
  const Sandbox box;
  test::write_text(box.path("sizes.h"), "constexpr double kScale = 1;\n");
  test::write_text(box.path("two.cpp"), kModel + std::string("SCRY_MODEL() { return {}; }\n"));
  const auto result = box.program("scry graph two.cpp");
  CHECK(result.exit_code == 1);
  REQUIRE(lines_of(result.err).size() == 2);
  CHECK(lines_of(result.err)[1].starts_with(
      "two.cpp:16: there are two SCRY_MODEL(): leave one (the other is at line 15)"));
}

TEST_CASE("a file without SCRY_MODEL() is refused in one line") {
  const Sandbox box;
  test::write_text(box.path("none.cpp"), "#include <scry.h>\n");
  CHECK(box.program("scry graph none.cpp").exit_code == 1);
  CHECK(box.program("scry graph none.cpp").err ==
        "none.cpp: there is no SCRY_MODEL() in it: end it with SCRY_MODEL() { return {model}; }\n");
}

/// One program with a mistake for each case; the comment at a line's end names the case.
const char* const kBadModels = R"(#include <scry.h>
#include <cstdlib>
#include <stdexcept>
#include <string>
using namespace scry;

bool is(const char* mistake) {
  const char* chosen = std::getenv("MISTAKE");
  return chosen != nullptr && std::string(chosen) == mistake;
}

struct Bad : Model {
  Parameter v;
  Linear layer;
  explicit Bad(const Task& task)
      : Model(task, state("h", 3)),
        v(param("v", {2}, is("root") ? Init::fill(0) : Init::normal(1))),
        layer(*this, "layer", 4, 1) {
    if (is("name")) param("v", {2}, Init::normal(1));  // name
  }
  Step step(const State& s, const Input& x, const Sym& y) const override {
    if (is("shape")) return {.score = sum(s["h"] + v), .state = {s["h"]}};  // shape
    if (is("product")) return {.score = sum(layer(s["h"])), .state = {s["h"]}};  // product
    if (is("state")) return {.score = v[y], .state = {v}};  // state
    if (is("count")) return {.score = v[y], .state = {s["h"], y}};  // count
    if (is("range")) return {.score = v[y + 1], .state = {s["h"]}};  // range
    if (is("score")) return {.state = {s["h"]}};  // score
    if (is("vector")) return {.score = v + 1, .state = {s["h"]}};  // vector
    if (is("component")) return {.score = v[y], .state = {s["c"]}};  // component
    if (is("encoding")) return {.score = sum(x.at("e")), .state = {s["h"]}};  // encoding
    if (is("integers")) return {.score = v[y * 70000 * 70000 % 2], .state = {s["h"]}};  // integers
    if (is("throws")) throw std::out_of_range("no such row");
    if (is("symbols")) {
      const Sym n = clamp(min(y, 1) + max(0, x) - x.position(), 0, 1);
      return {.score = select(n == y, v[n], 0.0), .state = {s["h"]}};
    }
    if (is("root")) return {.score = sqrt(v)[y], .state = {s["h"]}};
    if (is("gradient")) return {.score = stop_gradient(v)[y], .state = {s["h"]}};
    return {.score = v[y], .state = {s["h"]}};
  }
};

SCRY_MODEL() {  // body
  if (is("body")) throw std::runtime_error("no data");
  if (is("nothing")) return {};
  if (is("alphabet"))
    return {std::make_shared<Bad>(Task{Alphabet::of("a"), Alphabet::of("0 0")})};  // alphabet
  return {std::make_shared<Bad>(Task{Alphabet::of("a"), Alphabet::of("0 1")})};
}
)";

TEST_CASE("every mistake in a model file is one line that starts with its place") {
  const Sandbox box;
  std::filesystem::create_directory(box.path("my models"));
  test::write_text(box.path("my models/bad.cpp"), kBadModels);
  REQUIRE(box.program("scry graph 'my models/bad.cpp'").exit_code == 0);
  const std::vector<std::string> lines = lines_of(kBadModels);
  const auto line_of = [&](const std::string& mistake) {
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].ends_with("// " + mistake)) return std::to_string(i + 1);
    }
    return std::string("?");
  };
  for (const std::string mistake :
       {"name", "shape", "product", "state", "count", "range", "score", "vector", "component",
        "encoding", "alphabet", "integers", "body"}) {
    for (const std::string command : {"graph", "check"}) {
      const auto result = box.program("scry " + command + " 'my models/bad.cpp'",
                                      "SCRY_ENZYME=off MISTAKE=" + mistake);
      CAPTURE(mistake, command, result.err);
      CHECK(result.exit_code == 1);
      CHECK(result.out.empty());
      CHECK(lines_of(result.err).size() == 1);
      CHECK(result.err.starts_with("my models/bad.cpp:" + line_of(mistake) + ": "));
    }
  }
  CHECK(
      box.program("scry check 'my models/bad.cpp'", "SCRY_ENZYME=off MISTAKE=symbols").exit_code ==
      0);
  // At the constructor: g++ says its last line where clang says that of Model(…).
  const auto throws = box.program("scry graph 'my models/bad.cpp'", "MISTAKE=throws");
  CHECK(throws.exit_code == 1);
  CHECK(throws.err.starts_with("my models/bad.cpp:1"));
  CHECK(throws.err.ends_with(": step() threw an exception: no such row\n"));
  CHECK_THAT(box.program("scry graph 'my models/bad.cpp'", "MISTAKE=body").err,
             Catch::Contains("SCRY_MODEL() threw an exception: no data"));
  CHECK(box.program("scry graph 'my models/bad.cpp'", "MISTAKE=nothing").err ==
        "my models/bad.cpp: its SCRY_MODEL() returns no model\n");
  const auto stopped = box.program("scry check --lengths 1-2 'my models/bad.cpp'",
                                   "SCRY_ENZYME=off MISTAKE=gradient");
  CHECK(stopped.exit_code == 0);
  CHECK(stopped.err.empty());
  CHECK(stopped.out.find("stop_gradient: what it stops is held still") != std::string::npos);
  CHECK(lines_of(stopped.out).back().starts_with("all gradients agree"));
  // A root of 0 has no slope: half of the points of a finite difference are NaN.
  const auto wrong =
      box.program("scry check --lengths 1-2 'my models/bad.cpp'", "SCRY_ENZYME=off MISTAKE=root");
  CHECK(wrong.exit_code == 1);
  CHECK(wrong.err.empty());
  REQUIRE(wrong.out.find("WRONG") != std::string::npos);
  CHECK(lines_of(wrong.out).back().starts_with(
      "2 of 2 gradients disagree with finite differences, first that of G_T by θ at length 1 by "
      "adjoint, for model.v"));
}

}  // namespace
}  // namespace scry
