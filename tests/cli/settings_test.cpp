// Settings of a model file, by --set.
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/shell.h"

namespace scry {
namespace {

using test::lines_of;
using test::Sandbox;
using test::write_text;

constexpr const char* kModel = R"(#include <scry.h>
using namespace scry;
struct Bigram : Model {
  Parameter w;
  Bigram(const Task& task, int d)
      : Model(task, symbol_state("last", task.y.size())),
        w(param("w", {task.x.size() + d, task.y.size()}, Init::normal(1))) {}
  Step step(const State& s, const Input& x, const Sym& y) const override {
    return {.score = w[x][y] + select(s.sym("last") == y, 1.0, 0.0), .state = {y}};
  }
};
SCRY_MODEL(Settings& settings) {
  const Alphabet x = Alphabet::from_file(settings.file("vocab", "models/v.txt", "the symbols"));
  return {std::make_shared<Bigram>(Task{x.with_unknown(), Alphabet::of("0 1")},
                                   settings.number("d", 1, "rows more"))};
}
)";

struct Box : Sandbox {
  Box() {
    std::filesystem::create_directory(path("models"));
    write_text(path("models/m.cpp"), kModel);
    write_text(path("models/v.txt"), "a\nb\n");
    write_text(path("in.tsv"), "a b z\t0 1 0\nb\t1\n");
  }
  Result scry(const std::string& command, const std::string& words) const {
    return program("scry " + command + " models/m.cpp " + words);
  }
};

TEST_CASE("a model file is used with another vocabulary without being built again") {
  const Box box;
  const auto first = box.scry("init", "-o p");
  CAPTURE(first.err);
  REQUIRE(first.exit_code == 0);
  CHECK(first.err.find("building") != std::string::npos);
  write_text(box.path("other.txt"),
             "\xef\xbb\xbf"
             "b\r\n\r\nz\r\na\r\nc\r\n");
  const auto second = box.scry("init", "--set vocab=other.txt --set d=3 -o q");
  CHECK(second.exit_code == 0);
  CHECK(second.err.find("building") == std::string::npos);
  CHECK(box.scry("score", "--params p --input in.tsv").exit_code == 0);
  CHECK(box.scry("score", "--params q --input in.tsv --set vocab=other.txt --set d=3").exit_code ==
        0);

  SECTION("whose parameters are not taken for another's of the same size, nor gone on with") {
    write_text(box.path("swapped.txt"), "b\na\n");
    const auto wrong = box.scry("score", "--params p --input in.tsv --set vocab=swapped.txt");
    CHECK(wrong.exit_code == 1);
    CHECK(wrong.err ==
          "p: it was made for another input alphabet: symbol 0 is 'a' there but 'b' in this "
          "model\n");
    REQUIRE(box.scry("fit", "--train in.tsv --epochs 1 -o fitted").exit_code == 0);
    const std::string old = test::read_file(box.path("fitted"));
    const auto resumed =
        box.scry("fit", "--train in.tsv --epochs 2 -o fitted --resume --set vocab=swapped.txt");
    CHECK(resumed.exit_code == 1);
    CHECK(lines_of(resumed.err).back().starts_with("fitted: it was made for another input"));
    CHECK(test::read_file(box.path("fitted")) == old);
    CHECK(box.scry("fit", "--train in.tsv --epochs 2 -o fitted --resume").exit_code == 0);
  }
  SECTION("and shapes that do not fit are refused") {
    const auto wrong = box.scry("score", "--params p --input in.tsv --set d=2");
    CHECK(wrong.exit_code == 1);
    CHECK(wrong.err == "p: tensor 'model.w' is [4, 2] but the model's is [5, 2]\n");
  }
}

TEST_CASE("scry graph shows a model's settings") {
  const Box box;
  const auto text = box.scry("graph", "--set d=2");
  CAPTURE(text.out, text.err);
  REQUIRE(text.exit_code == 0);
  const std::vector<std::string> lines = lines_of(text.out);
  CHECK(lines[0] == "settings  by --set NAME=VALUE");
  CHECK(lines[2].find("vocab  models/v.txt") != std::string::npos);
  CHECK(lines[3].find("d      2             1           rows more") != std::string::npos);
  const auto json = nlohmann::json::parse(box.scry("graph", "--set d=2 --format json").out);
  CHECK(json["settings"][1] ==
        nlohmann::json{{"name", "d"}, {"value", "2"}, {"default", "1"}, {"help", "rows more"}});
  CHECK(box.program("lesson_01_hmm graph").out.find("settings") == std::string::npos);
}

TEST_CASE("a setting that cannot be is one line that says what to do") {
  const Box box;
  const auto refuse = [&](const std::string& words, int exit_code, const std::string& message) {
    const auto result = box.scry("init", words + " -o p");
    CAPTURE(words, result.err);
    CHECK(result.exit_code == exit_code);
    CHECK(lines_of(result.err).back() == message);
    CHECK_FALSE(std::filesystem::exists(box.path("p")));
  };
  refuse("--set d=x", 2, "scry: the setting d (rows more) is 'x', not a whole number");
  refuse("--set vocb=v.txt", 2,
         "scry: --set: the model has no setting 'vocb', did you mean vocab?; it has vocab, d");
  refuse("--set d=1 --set d=2", 2, "scry: --set: d is given twice");
  refuse("--set vocab=", 2,
         "scry: the model needs a file for its setting vocab (the symbols): --set vocab=FILE");
  refuse("--set d", 2,
         "scry: --set: 'd' is not a setting and its value, such as d=64; see scry init --help");
  refuse("--set vocab=none.txt", 1,
         "none.txt: it cannot be read (No such file or directory); a vocabulary has one symbol a "
         "line; --set vocab=FILE names another (the symbols)");
  write_text(box.path("models/v.txt"), "a\nb\na\n");
  refuse("", 1,
         "models/v.txt:3: 'a' stands twice, first in line 1; leave one; --set vocab=FILE names "
         "another (the symbols)");
  const auto none = box.program("lesson_01_hmm init --set d=3 -o p");
  CHECK(none.exit_code == 2);
  CHECK(none.err ==
        "scry: --set: the model has no setting 'd', nor any other: its SCRY_MODEL() takes no "
        "Settings&\n");
}

TEST_CASE("a vocabulary is never written over by a command that reads it") {
  const Box box;
  const auto result = box.scry("init", "-o models/v.txt --overwrite");
  CHECK(result.exit_code == 2);
  CHECK(lines_of(result.err).back() ==
        "scry: --output and the setting vocab are the same file 'models/v.txt', which would be "
        "lost");
  CHECK(test::read_file(box.path("models/v.txt")) == "a\nb\n");
}

TEST_CASE("the next command that fit proposes has the settings in it") {
  const Box box;
  const auto result = box.scry("fit", "--train in.tsv --epochs 1 -o fitted --set d=2");
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(lines_of(result.err).back() ==
        "fit: next: scry sample models/m.cpp --params fitted --input in.tsv --set d=2");
}

}  // namespace
}  // namespace scry
